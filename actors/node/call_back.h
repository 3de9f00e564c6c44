/// Has nodes that cannot be dialled from here dial this one: a link serves both sides, whoever made it
/// (docs/protocol.md, "Nodes that cannot be dialled"). On every node.
///
///   mail                      reply
///   (unreached_atom, NodeId)  -      from Links: a dial has failed. Asks that the node dial this one
///   CallMe                    -      passed on to its node, or, if that is this one, the caller is dialled
///
/// A wish goes over the links that there are to those nodes whose ids are nearest to the one wanted, which
/// are likely to be linked to it. Each passes it on, once, if it has a link. A wish is passed on and a caller
/// dialled once in `pause`, a node asked for after twice the time of before, and only so many in all: what others send costs this
/// node's own wishes nothing, and a swarm in which dials fail because all are busy is not kept busy by wishes.
/// A caller whom the DHT knows is dialled where that says it is, whatever the wish says; few others are, and
/// never by name. Who has a wish passed on says it for itself.
/// Thread  pooled.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>

#include "common/ids.h"

namespace swarm::actors {

struct CallBackDeps {
  NodeId self;
  /// Where this node listens, as told to others. Port 0: nobody can call it back.
  Endpoint endpoint;
  caf::actor links, dht;
  std::chrono::milliseconds pause{5'000};
};

/// In one pause: nodes asked for; wishes of others passed on, and as many carried out; of callers that the
/// DHT does not know.
constexpr size_t kMaxWishes = 8, kMaxCallBacks = 32, kMaxUnknown = 8;
constexpr size_t kAskedToPassOn = 8;
/// Callers whom the DHT is asked about at once; calls beyond are dropped.
constexpr size_t kMaxAsking = 8;

/// Registers itself with `deps.links` as kCallBackName.
caf::actor spawn_call_back(caf::actor_system& system, CallBackDeps deps);

}  // namespace swarm::actors
