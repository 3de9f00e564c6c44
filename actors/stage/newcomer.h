/// A role that waits for a stage: registers without one, and ends when the coordinator has named it; the
/// supervisor then spawns a stage server in its place (docs/elastic.md).
///
///   mail             reply
///   (Mail)           kNotReady
///   (describe_atom)  std::string
///   (drain_atom)     bool, at once
///
/// Thread  pooled. Timers  registers itself every dht_options.announce_every.
/// Exit    with user_shutdown after move_to(), as a stage server that moves.
#pragma once

#include "actors/stage/stage_server.h"

namespace swarm::actors {

/// Of `deps` those that do not depend on the stage. Requires move_to.
caf::actor spawn_newcomer(caf::actor_system& system, StageServerDeps deps);

}  // namespace swarm::actors
