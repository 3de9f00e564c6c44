/// Replicas say what should be the same in all of them: who is believed where it is not.
///
/// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"

namespace swarm::routing {

/// `what`: a checksum, or a hash of several.
struct Said {
  PeerId peer;
  uint64_t what = 0;
};

struct Believed {
  uint64_t what = 0;
  std::vector<PeerId> odd;  ///< Those that say something else, ascending.
};

/// What most say; of as many on two sides what the one with the smallest id says. Requires one at
/// least.
Believed believe(const std::vector<Said>& said);

}  // namespace swarm::routing
