/// Whether a coordinator that cannot bring the swarm together gives its office up, so that another
/// trainer node tries: what it cannot reach others may (docs/training_protocol.md).
///
/// Pure: time is an argument. One owner: the Coordinator.
#pragma once

#include <cstdint>
#include <optional>

#include "common/strong_id.h"
#include "routing/time.h"

namespace swarm::routing {

class Tenure {
 public:
  /// A stage is waited for as long as it takes a peer to notice a death, to dial and to register.
  static constexpr Time kPatience = std::chrono::seconds(10);
  /// When all candidates have tried in vain, each has twice as long the next time, up to 2^4 times:
  /// the stage is dead, and handing the office round does not help it.
  static constexpr uint32_t kMostDoublings = 4;

  struct Facts {
    std::optional<Stage> missing;  ///< While the swarm gathers: no peer of it has registered.
    bool minority = false;         ///< Fewer voters than needed are here.
    size_t rivals = 0;             ///< Other candidates that live.
    uint32_t vain = 0;             ///< Reigns in a row, this one included, that opened no step.
  };
  /// Call at every tick while this node leads. True: now it should hand over.
  bool gives_way(const Facts& facts, Time now);
  /// A reign begins or ends.
  void reset() { since_.reset(); }

  static Time patience(const Facts& facts);

 private:
  std::optional<Time> since_;  ///< Some stage is missing.
};

}  // namespace swarm::routing
