/// Whether a node may have its name: no two processes of a swarm share one. Pure.
///
/// A newcomer looks, claims, and looks again before it serves. Whoever holds the name keeps it; of
/// two that claim it at the same time each sees the other, and the smaller id gets it. One that looked just
/// before the other's claim arrived has not seen it, so both may come in: holders look again
/// now and then, and the larger id leaves.
#pragma once

#include <vector>

#include "common/ids.h"

namespace swarm::routing {

/// What another living process says of the name.
struct NameClaim {
  NodeId node;
  Endpoint endpoint;
  bool holds = false;  ///< It serves under the name; else it only claims it so far.
};

/// Whom the name belongs to; null: `self` may have it. `others` may name `self` too.
inline const NameClaim* owner_of_name(const NodeId& self, const std::vector<NameClaim>& others) {
  for (const NameClaim& other : others)
    if (other.node != self && (other.holds || other.node < self)) return &other;
  return nullptr;
}

/// Whom `self`, which holds the name, has to leave it to; null: to nobody.
inline const NameClaim* rightful_holder(const NodeId& self, const std::vector<NameClaim>& others) {
  for (const NameClaim& other : others)
    if (other.holds && other.node < self) return &other;
  return nullptr;
}

}  // namespace swarm::routing
