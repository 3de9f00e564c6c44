/// Replicas of a stage that have different bits after the same update: who stays, and who fetches what
/// the others have. Who found that its state had changed since the update before goes; of the rest the
/// majority stays, of two the one with the smaller id.
///
/// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"

namespace swarm::routing {

struct Replica {
  PeerId peer;
  uint64_t checksum = 0;
  bool changed_at_rest = false;  ///< Before the update it was not what it was after the last one.
};

struct OddReplicas {
  uint64_t right = 0;        ///< The checksum of those that stay.
  std::vector<Replica> odd;  ///< None: they are equal.
};

/// Requires one at least.
OddReplicas odd_replicas(const std::vector<Replica>& replicas);

}  // namespace swarm::routing
