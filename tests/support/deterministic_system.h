/// An actor system in which mail and time move only when the test says so: no threads, no sockets,
/// no real time. Requests' timeouts and delayed mail fire at exactly their virtual time.
#pragma once

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "actors/system_config.h"

namespace swarm::test {

class DeterministicConfig : public caf::actor_system_config {
 public:
  DeterministicConfig() {
    set("scheduler.policy", caf::atom("testing"));
    actors::add_swarm_errors(*this);
  }
};

/// Usage:
///   DeterministicSystem system;
///   auto actor = system.own(system->spawn(...));
///   system.run();             // delivers all mail that is due
///   system.advance(1500ms);   // lets virtual time pass, delivering on the way
/// Never spawn detached actors in it: they are real threads even here.
class DeterministicSystem {
 public:
  DeterministicSystem()
      : system_(config_),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
    run();
  }
  /// Ends all actors given to own(), newest first.
  ~DeterministicSystem() {
    for (auto it = owned_.rbegin(); it != owned_.rend(); ++it) {
      caf::anon_send_exit(*it, caf::exit_reason::user_shutdown);
    }
    owned_.clear();
    run();
    system_.await_actors_before_shutdown(false);
  }
  DeterministicSystem(const DeterministicSystem&) = delete;
  DeterministicSystem& operator=(const DeterministicSystem&) = delete;

  caf::actor_system& operator*() { return system_; }
  caf::actor_system* operator->() { return &system_; }
  caf::scheduler::test_coordinator& scheduler() { return scheduler_; }
  caf::actor_clock::time_point now() { return scheduler_.clock().now(); }

  /// Keeps `actor` alive and ends it with the system.
  caf::actor own(caf::actor actor) {
    owned_.push_back(actor);
    return actor;
  }

  /// Delivers mail until none is left; time stands still.
  void run() {
    while (scheduler_.try_run_once()) {
    }
  }

  /// Lets `time` pass, stopping at every timeout on the way and running all mail there.
  void advance(std::chrono::nanoseconds time) {
    run();
    auto end = now() + time;
    while (now() < end) {
      const auto& schedule = scheduler_.clock().schedule();
      auto next = schedule.empty() ? end : std::max(now(), std::min(end, schedule.begin()->first));
      scheduler_.advance_time(next - now());
      run();
    }
  }

  /// Advances until `done` holds or `limit` of virtual time has passed; returns done().
  bool advance_until(const std::function<bool()>& done, std::chrono::nanoseconds limit,
                     std::chrono::nanoseconds step = std::chrono::milliseconds(1)) {
    run();
    for (; !done() && limit.count() > 0; limit -= step) advance(step);
    return done();
  }

 private:
  DeterministicConfig config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  std::vector<caf::actor> owned_;
};

}  // namespace swarm::test
