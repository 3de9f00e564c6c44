/// Tells a newcomer whether the address that it announces leads to it. On every node; a newcomer asks
/// the one that it joined through.
///
///   mail        reply           errors
///   DialBack    DialBackReply   kInvalidArgument, kRefused (may_dial_back()), kOverloaded (kMaxDialBacks are
///                               under way, or one for its address a moment ago)
///
/// Dials on a thread of its own, as a tool (links/knock.h); says no more of the address than whether
/// that node answers there, and why not.
/// Thread  pooled.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>
#include <vector>

#include "actors/node/knocking.h"

namespace swarm::actors {

/// Strangers must not make a node dial without end.
constexpr int kMaxDialBacks = 2;
/// From one dial for an address without proof to the next; on one machine all come from one address.
constexpr std::chrono::milliseconds kDialBackPause{5'000};

/// Whether `wanted` is dialled for `asker`, who has one of `links`: for whoever has not proven the run's key
/// only where it comes from itself, and there no port of the system's that it has not announced. Else
/// strangers would learn from here who listens where they cannot look. Pure. Errors: kRefused.
Status may_dial_back(const std::vector<LinkStats>& links, const NodeId& asker,
                     const Endpoint& wanted);

/// Registers itself with `links` as kDialBackName. `detached`: false in tests.
caf::actor spawn_dial_back(caf::actor_system& system, const caf::actor& links, Knock knock,
                           bool detached = true);

}  // namespace swarm::actors
