/// Which state a range of elements belongs to (docs/averaging.md, "Learners").
#pragma once

#include <cstdint>
#include <tuple>

#include "common/strong_id.h"

namespace swarm::routing {

/// Two histories may have the same step; not the same checksum.
struct StateLabel {
  Step step;              ///< Updates applied.
  uint64_t checksum = 0;  ///< Of all parameters of the stage.

  friend bool operator==(const StateLabel& a, const StateLabel& b) {
    return a.step == b.step && a.checksum == b.checksum;
  }
  friend bool operator!=(const StateLabel& a, const StateLabel& b) { return !(a == b); }
  friend bool operator<(const StateLabel& a, const StateLabel& b) {
    return std::tie(a.step, a.checksum) < std::tie(b.step, b.checksum);
  }
};

}  // namespace swarm::routing
