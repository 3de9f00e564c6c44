/// A node started with `--collect DIR`: when training is finished it brings the run together, and
/// then ends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "apps/commands/collector.h"

namespace swarm::apps {

/// Lives as long as the process: its thread may outlive whoever began it.
class NodeCollect {
 public:
  /// `steps`: of the run. `patience_s`: how long it tries again when nodes are missing. `stays`: the
  /// process goes on.
  NodeCollect(CollectOptions options, uint64_t steps, double patience_s, bool stays)
      : options_(std::move(options)), steps_(steps), patience_s_(patience_s), stays_(stays) {}

  /// Where this node is reached from itself; before begin().
  void reach_at(const Endpoint& self) { options_.nodes = {self}; }
  /// Collects on a thread of its own, then sends the process SIGTERM unless it stays. Call once.
  void begin();
  /// It was begun and has not ended with all that the nodes hold.
  bool failed() const { return begun_ && !whole_; }

 private:
  void work();
  bool try_once(launch::Collection& into);

  CollectOptions options_;
  const uint64_t steps_;
  const double patience_s_;
  const bool stays_;
  std::atomic<bool> begun_{false}, whole_{false};
};

}  // namespace swarm::apps
