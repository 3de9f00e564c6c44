#include "apps/sim/deterministic_system.h"

#include <algorithm>
#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>
#include <utility>

#include "actors/net/system_config.h"

namespace swarm::sim {

DeterministicConfig::DeterministicConfig() {
  set("scheduler.policy", caf::atom("testing"));
  actors::add_swarm_errors(*this);
}

DeterministicSystem::DeterministicSystem()
    : system_(config_),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
  run();
}

DeterministicSystem::~DeterministicSystem() {
  while (!frozen_.empty()) thaw(frozen_.begin()->first);
  for (auto it = owned_.rbegin(); it != owned_.rend(); ++it)
    caf::anon_send_exit(*it, caf::exit_reason::user_shutdown);
  owned_.clear();
  run();
  scheduler_.clock().cancel_all();
  system_.await_actors_before_shutdown(false);
}

caf::actor DeterministicSystem::own(caf::actor actor) {
  owned_.push_back(actor);
  return actor;
}

DeterministicSystem::Owner DeterministicSystem::owner_of(caf::resumable* job) const {
  auto* actor = dynamic_cast<caf::scheduled_actor*>(job);
  return actor != nullptr && actor->id() < owners_.size() ? owners_[actor->id()] : kNobody;
}

void DeterministicSystem::claim(Owner owner, caf::actor_id before) {
  const auto newest = system_.latest_actor_id();
  if (newest == before || owner == kNobody) return;
  if (owners_.size() <= newest) owners_.resize(newest + 64, kNobody);
  for (auto id = before + 1; id <= newest; ++id) owners_[id] = owner;
}

void DeterministicSystem::as(Owner owner, const std::function<void()>& work) {
  const auto before = system_.latest_actor_id();
  work();
  claim(owner, before);
}

void DeterministicSystem::freeze(Owner owner) { frozen_.try_emplace(owner); }

void DeterministicSystem::thaw(Owner owner) {
  auto waiting = frozen_.extract(owner);
  if (waiting.empty()) return;
  for (auto* job : waiting.mapped()) scheduler_.jobs.push_back(job);
}

bool DeterministicSystem::run_one() {
  auto& jobs = scheduler_.jobs;
  if (jobs.empty()) return false;
  if (order_ && jobs.size() > 1) std::swap(jobs.front(), jobs[order_->below(jobs.size())]);
  const Owner owner = owner_of(jobs.front());
  if (!frozen_.empty()) {
    auto ice = frozen_.find(owner);
    if (ice != frozen_.end()) {  // it keeps its reference until it is back in the queue
      ice->second.push_back(jobs.front());
      jobs.pop_front();
      return true;
    }
  }
  const auto before = system_.latest_actor_id();
  ++steps_;
  scheduler_.try_run_once();
  claim(owner, before);
  return true;
}

void DeterministicSystem::run() {
  while (run_one()) {
  }
}

void DeterministicSystem::advance(std::chrono::nanoseconds time) {
  run();
  const auto end = now() + time;
  while (now() < end) {
    const auto& schedule = scheduler_.clock().schedule();
    auto next = schedule.empty() ? end : std::max(now(), std::min(end, schedule.begin()->first));
    scheduler_.advance_time(next - now());
    run();
  }
}

bool DeterministicSystem::advance_until(const std::function<bool()>& done,
                                        std::chrono::nanoseconds limit,
                                        std::chrono::nanoseconds step) {
  run();
  for (; !done() && limit.count() > 0; limit -= step) advance(step);
  return done();
}

}  // namespace swarm::sim
