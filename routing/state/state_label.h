/// Which state a range of elements belongs to (docs/averaging.md, "Learners").
#pragma once

#include <cstdint>
#include <tuple>

#include "common/strong_id.h"
#include "routing/steps/history.h"

namespace swarm::routing {

struct StateLabel {
  Step step;              ///< Updates applied.
  uint64_t checksum = 0;  ///< Of all parameters of the stage.
  History history{};      ///< 0: not known.

  friend bool operator==(const StateLabel& a, const StateLabel& b) {
    return a.step == b.step && a.checksum == b.checksum && a.history == b.history;
  }
  friend bool operator!=(const StateLabel& a, const StateLabel& b) { return !(a == b); }
  friend bool operator<(const StateLabel& a, const StateLabel& b) {
    return std::tie(a.step, a.checksum, a.history) < std::tie(b.step, b.checksum, b.history);
  }
};

}  // namespace swarm::routing
