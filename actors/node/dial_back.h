/// Tells a newcomer whether the address that it announces leads to it. On every node; a newcomer asks
/// the one that it joined through.
///
///   mail        reply           errors
///   DialBack    DialBackReply   kInvalidArgument, kOverloaded (kMaxDialBacks are under way)
///
/// Dials on a thread of its own, as a tool (links/knock.h); says no more of the address than whether
/// that node answers there, and why not.
/// Thread  pooled.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/node/knocking.h"

namespace swarm::actors {

/// Strangers must not make a node dial without end.
constexpr int kMaxDialBacks = 2;

/// Registers itself with `links` as kDialBackName. `detached`: false in tests.
caf::actor spawn_dial_back(caf::actor_system& system, const caf::actor& links, Knock knock,
                           bool detached = true);

}  // namespace swarm::actors
