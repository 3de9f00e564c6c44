/// Ends a node some time after training is finished, so that rented machines do not run for nothing.
/// Asks the DHT what the coordinator says; when a node may leave is decided in
/// routing/membership/ending.h.
///
/// Thread  pooled. Timers  asks every five seconds, from (begin_atom) on.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <functional>
#include <string>

namespace swarm::actors {

struct FarewellDeps {
  caf::actor dht;
  double linger_s = 120;                        ///< Between "finished" and the end.
  bool stays = false;                           ///< Says that training is finished, and stays.
  std::function<void(const std::string&)> say;  ///< A line for people.
  std::function<void()> leave;                  ///< Called once.
};

caf::actor spawn_farewell(caf::actor_system& system, FarewellDeps deps);

}  // namespace swarm::actors
