/// Answers every Echo with an equal one: `swarm bench transport` measures against it.
///
///   mail (Mail)       reply
///   Echo              Echo              body included, not copied
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

namespace swarm::actors {

/// Registers itself with `links` as "echo". Bodies are not copied.
caf::actor spawn_echo(caf::actor_system& system, const caf::actor& links);

}  // namespace swarm::actors
