/// The snapshot that no peer may prune, as a coordinator says it. Pure.
#pragma once

#include <cstdint>

#include "common/strong_id.h"

namespace swarm {

struct KeepStep {
  Step step;  ///< The newest that is durable in every stage.
  uint64_t order =
      0;  ///< Of two words of one coordinator the higher one holds, whichever arrives last.
};

}  // namespace swarm
