/// What is to happen at which virtual time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "apps/sim/deterministic_system.h"

namespace swarm::sim {

class Agenda {
 public:
  using TimePoint = caf::actor_clock::time_point;
  /// `system` outlives this.
  explicit Agenda(DeterministicSystem& system) : system_(system) {}

  void at(TimePoint when, std::function<void()> what) { actions_.emplace(when, std::move(what)); }
  void later(std::chrono::nanoseconds delay, std::function<void()> what) {
    at(system_.now() + delay, std::move(what));
  }
  /// When the next is due, if any.
  std::optional<TimePoint> next() const {
    if (actions_.empty()) return std::nullopt;
    return actions_.begin()->first;
  }
  /// Carries out what is due. Not from within an actor.
  void act() {
    while (!actions_.empty() && actions_.begin()->first <= system_.now()) {
      auto action = std::move(actions_.begin()->second);
      actions_.erase(actions_.begin());
      action();
    }
  }
  void clear() { actions_.clear(); }

 private:
  DeterministicSystem& system_;
  std::multimap<TimePoint, std::function<void()>> actions_;
};

}  // namespace swarm::sim
