/// Whether a step that takes long goes forward: slots that are done, and bytes that the nodes have
/// sent of work and states. Says so now and then, for those who would think that all hangs.
///
/// Pure: time is an argument. One owner: the Coordinator.
#pragma once

#include <cstdint>
#include <optional>

#include "common/strong_id.h"
#include "routing/time.h"

namespace swarm::routing {

class ProgressWatch {
 public:
  /// Nothing is said of a step that is shorter, and then no more often.
  static constexpr Time kEvery = std::chrono::seconds(10);

  /// How it is now. `bytes`: sent by all nodes so far; a node that is gone takes its bytes with it.
  /// True: the step has gone forward since it was said last, or began.
  bool look(Step step, uint32_t slots_done, uint64_t bytes, Time now);

 private:
  std::optional<Step> step_;
  Time said_at_{};
  uint32_t slots_done_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace swarm::routing
