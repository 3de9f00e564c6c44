/// An actor system in which mail and time move only when its owner says so: no threads, no
/// sockets, no real time. Requests' timeouts and delayed mail fire at exactly their virtual time.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "apps/sim/random.h"

namespace swarm::sim {

class DeterministicConfig : public caf::actor_system_config {
 public:
  DeterministicConfig();
};

/// Usage:
///   DeterministicSystem system;
///   auto actor = system.own(system->spawn(...));
///   system.run();             // delivers all mail that is due
///   system.advance(1500ms);   // lets virtual time pass, delivering on the way
///
/// Owners: actors spawned in as(owner, ...), and all that they spawn, belong to that owner (a
/// simulated process) and can be frozen together, as SIGSTOP does: mail and timers wait in their
/// mailboxes and are handled after thaw().
/// Never spawn detached actors in it: they are real threads even here. Not reentrant.
class DeterministicSystem {
 public:
  using Owner = uint32_t;
  static constexpr Owner kNobody = 0;

  DeterministicSystem();
  /// Ends all actors given to own(), newest first.
  ~DeterministicSystem();
  DeterministicSystem(const DeterministicSystem&) = delete;
  DeterministicSystem& operator=(const DeterministicSystem&) = delete;

  caf::actor_system& operator*() { return system_; }
  caf::actor_system* operator->() { return &system_; }
  caf::scheduler::test_coordinator& scheduler() { return scheduler_; }
  caf::actor_clock::time_point now() { return scheduler_.clock().now(); }

  /// Keeps `actor` alive and ends it with the system.
  caf::actor own(caf::actor actor);

  /// From now on the actor that runs next is drawn among those that have mail; before, the one
  /// that has waited for longest. Mail between two actors keeps its order.
  void shuffle(uint64_t seed) { order_.emplace(seed); }

  /// Runs `work`; actors spawned by it belong to `owner`.
  void as(Owner owner, const std::function<void()>& work);
  void freeze(Owner owner);
  void thaw(Owner owner);
  bool frozen(Owner owner) const { return frozen_.count(owner) != 0; }

  /// Delivers mail until none is left; time stands still.
  void run();
  /// Lets `time` pass, stopping at every timeout on the way and running all mail there.
  void advance(std::chrono::nanoseconds time);
  /// Advances until `done` holds or `limit` of virtual time has passed; returns done().
  bool advance_until(const std::function<bool()>& done, std::chrono::nanoseconds limit,
                     std::chrono::nanoseconds step = std::chrono::milliseconds(1));

  /// Jobs run so far: one per piece of mail.
  uint64_t steps() const { return steps_; }

 private:
  Owner owner_of(caf::resumable* job) const;
  void claim(Owner owner, caf::actor_id before);
  bool run_one();

  DeterministicConfig config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  std::vector<caf::actor> owned_;
  std::vector<Owner> owners_;  ///< By actor id.
  std::map<Owner, std::vector<caf::resumable*>> frozen_;
  std::optional<Random> order_;
  uint64_t steps_ = 0;
};

}  // namespace swarm::sim
