/// Gloo (github.com/facebookincubator/gloo; Debian's libgloo-dev) as the yardstick of `swarm bench
/// averaging`: one process's side of its sum over all processes, on its TCP transport over
/// 127.0.0.1. Without Gloo at build time available() is false and connect() fails.
///
/// Blocking; one owner, one thread. Gloo's exceptions end in here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/result.h"

namespace swarm::apps {

class GlooPeer {
 public:
  static bool available();
  /// Names of its all-reduce algorithms; prepare() takes an index into them.
  static const std::vector<std::string>& algorithms();

  /// Meets the other `size - 1` processes through files in `folder`, which exists and is empty, and
  /// connects with all of them. Errors: kInternal (with Gloo's own words), kNotFound (not built).
  static Result<std::unique_ptr<GlooPeer>> connect(const std::string& folder, int rank, int size);

  virtual ~GlooPeer() = default;
  /// Makes what the algorithm needs to sum `n` floats at `data`, in place. `data` stays valid and
  /// in place until the next prepare(). Errors: kInternal.
  virtual Status prepare(size_t algorithm, float* data, size_t n) = 0;
  /// data[i] = sum over the processes; all processes call it. Errors: kInternal.
  virtual Status run() = 0;
};

}  // namespace swarm::apps
