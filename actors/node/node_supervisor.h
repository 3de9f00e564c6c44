/// The roles of one node: spawns them, restarts what fails, ends them in order (design Sec. 3).
///
///   mail (Mail)                     reply
///   StopNode                        Ack, then the node drains; or the process ends at once
///
///   local mail
///   (list_actors_atom)              std::vector<std::string>
///   (describe_atom, string id)      std::string; kNotFound
///   (drain_atom)                    bool: every role has drained; then it ends them and itself
///
/// Roles come in groups that live and die together: a stage server with its compute actor, averager
/// and checkpointer; a trainer; a coordinator. A group whose actor dies is ended whole and spawned
/// again under a new incarnation ("stage.0.1"): what it held in memory is lost, so others must not
/// take it for its predecessor. More than kMaxRestarts in a row end the node with an error.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/node/event_log.h"

namespace swarm::actors {

using list_actors_atom = caf::atom_constant<caf::atom("listactors")>;

/// Registered with `links` on every node.
constexpr const char* kSupervisorName = "supervisor";
constexpr int kMaxRestarts = 5;

/// Name -> actor. The first that is asked to drain is the one named like the group.
using RoleActors = std::map<std::string, caf::actor>;

struct RoleGroup {
  std::string name;  ///< "stage.0", "trainer", "coordinator".
  /// Spawns the group; `suffix` ("" or ".1", ".2", ...) is appended to the names of its actors.
  std::function<RoleActors(const std::string& suffix)> spawn;
};

struct NodeSupervisorDeps {
  caf::actor links;
  std::vector<RoleGroup> groups;
  std::shared_ptr<EventLog> events;
  /// Ends the process now (kill -9); a parameter so that tests survive it.
  std::function<void()> kill_process;
  /// Asks the main thread to drain and leave; `failed` gives the exit code.
  std::function<void(bool failed)> stop_process;
};

caf::actor spawn_node_supervisor(caf::actor_system& system, NodeSupervisorDeps deps);

}  // namespace swarm::actors
