/// Chooses which peer of one pipeline stage serves the next microbatch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "common/ids.h"
#include "common/result.h"

namespace swarm::routing {

/// Interleaved weighted round-robin (paper, Sec. 3.2, stochastic wiring) in its priority-queue
/// form: each peer has a virtual clock [s]; pick() takes the earliest and moves it on by samples /
/// throughput, so work is shared in proportion to throughput.
///
/// Pure: no time, randomness, threads or I/O. Not thread-safe; one owner.
class InterleavedRoundRobin {
 public:
  /// Adds `peer` or updates its throughput. Requires samples_per_s > 0.
  /// A new peer starts at the earliest clock: measured soon, not flooded.
  void upsert(const PeerId& peer, double samples_per_s);

  /// Forgets `peer` (banned, expired, gone). Unknown peers are ignored.
  void remove(const PeerId& peer);

  /// Books `num_samples` on a peer and returns it. Peers for which `excluded` is true are passed
  /// over. Ties go to the smallest id, so equal inputs give equal choices. Errors: kNoLivePeer.
  Result<PeerId> pick(int64_t num_samples, const std::function<bool(const PeerId&)>& excluded = {});

  bool contains(const PeerId& peer) const;
  size_t size() const;
  std::vector<PeerId> peers() const;

 private:
  struct Entry {
    double clock_s = 0;
    double samples_per_s = 1;
  };
  std::map<PeerId, Entry> entries_;
};

}  // namespace swarm::routing
