/// A node without work, in a process of its own, for benchmarks.
#pragma once

#include <string>
#include <utility>

#include "apps/launch/child_process.h"
#include "common/ids.h"
#include "common/result.h"

namespace swarm::apps {

/// A temporary folder with an experiment whose nodes `seed` (no role), `trainer` and `stage` find
/// nothing to do. The folder goes with the object.
class IdleFolder {
 public:
  /// `of_seed`: keys of the node `seed`, a line each. Errors: kIo.
  static Result<IdleFolder> make(const std::string& of_seed = {});
  ~IdleFolder();
  IdleFolder(IdleFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  IdleFolder& operator=(IdleFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit IdleFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Started by the program that runs the benchmark; killed with the object.
class IdleNode {
 public:
  /// Waits until the node listens, for up to 20 s. Errors: kInternal (it did not), kIo.
  static Result<IdleNode> start(const IdleFolder& folder, const std::string& name);
  ~IdleNode();
  IdleNode(IdleNode&& other) noexcept;
  IdleNode& operator=(IdleNode&&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  /// Resident memory [MB] two seconds after it began to listen.
  double settled_mb() const;

 private:
  IdleNode(launch::ChildProcess child, Endpoint endpoint);
  launch::ChildProcess child_;
  Endpoint endpoint_;
  bool owns_ = true;
};

}  // namespace swarm::apps
