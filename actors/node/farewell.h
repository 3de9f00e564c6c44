/// Tells the node's people how far training is, and ends the node some time after it is finished, or as soon as
/// somebody holds its records, so that rented machines do not run for nothing. Asks the DHT what the
/// coordinator says; when a node may leave is decided in routing/membership/ending.h.
///
///   local mail
///   (collected_atom, bool finished)    - ; ends the node if training is finished, as it knows itself
///                                      or is told
///   (reading_atom)                     - ; somebody is at the node's records: it is waited for
///
/// Thread  pooled. Timers  asks every five seconds, from (begin_atom) on.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <functional>
#include <string>

namespace swarm::actors {

using collected_atom = caf::atom_constant<caf::atom("collected")>;
using reading_atom = caf::atom_constant<caf::atom("reading")>;

struct FarewellDeps {
  caf::actor dht;
  double linger_s = 120;  ///< Between "finished" and the end.
  bool stays = false;     ///< Says that training is finished, and stays.
  bool collects = false;  ///< Stays until its caller has collected the run.
  /// The node's trainer tells of steps; this one then only of what it waits for.
  bool trainer = false;
  std::string records;                          ///< Where the node's records are, for people.
  std::function<void(const std::string&)> say;  ///< A line for people.
  std::function<void()> finished = [] {};       ///< Training is; called once.
  std::function<void()> alive = [] {};          ///< The DHT has answered; every few seconds.
  std::function<void()> leave;                  ///< Called once.
};

caf::actor spawn_farewell(caf::actor_system& system, FarewellDeps deps);

}  // namespace swarm::actors
