/// The roles of one node: spawns them, restarts what fails, ends them in order (design Sec. 3).
///
///   mail (Mail)                     reply
///   StopNode                        Ack, then the node drains; or the process ends at once
///
///   local mail
///   (list_actors_atom)              std::vector<std::string>
///   (describe_atom, string id)      std::string; kNotFound
///   (begin_atom)                    - ; spawns the roles of deps.hold
///   (drain_atom)                    bool: every role has drained, and the links have sent what others
///                                   wait for; then it ends the roles and itself. False: what a
///                                   stage held is not on the disk (event state_unsaved)
///
/// Roles come in groups that live and die together: a stage server with what belongs to it; a
/// trainer; a coordinator. A group whose actor dies is ended whole and spawned again in its next
/// life ("stage.0.1"): what it held in memory is lost, so others must not take it for its
/// predecessor. More than kMaxRestarts in a row, each before the group has lived for kGoodService,
/// end the node with an error. So does the end of the links or of the DHT: no role is of use without
/// them. A group whose actor ends with user_shutdown has not failed: it is spawned anew at once, to serve
/// another stage (docs/elastic.md). The node's other actors, this one included, are watched by the node (actors/node/watch.h).
///
/// Thread  pooled.
/// Timers  200 ms to 3.2 s before a group is spawned again, twice as long each time in a row.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "actors/node/drain_times.h"
#include "actors/node/event_log.h"
#include "actors/node/roles.h"

namespace swarm::actors {

using list_actors_atom = caf::atom_constant<caf::atom("listactors")>;

constexpr int kMaxRestarts = 5;
/// A group that has lived so long failed for a reason of its own, not for that of its last failure.
constexpr std::chrono::seconds kGoodService{60};

/// Registered with `links` on every node as kSupervisorName.
struct NodeSupervisorDeps {
  caf::actor links;
  caf::actor dht;  ///< May be null.
  std::vector<RoleGroup> groups;
  bool hold = false;  ///< Spawns nothing before (begin_atom): the node is not in its swarm yet.
  std::shared_ptr<EventLog> events;
  /// Ends the process now (kill -9); a parameter so that tests survive it.
  std::function<void()> kill_process;
  /// Asks the main thread to drain and leave; `failed` gives the exit code.
  std::function<void(bool failed)> stop_process;
  std::chrono::milliseconds drain_limit = drain_times(NodeOptions().grace_s).roles;
};

caf::actor spawn_node_supervisor(caf::actor_system& system, NodeSupervisorDeps deps);

}  // namespace swarm::actors
