#include "routing/membership/office.h"

#include <algorithm>

namespace swarm::routing {

Office::Office(const OfficeOptions& options, Time now, uint64_t first_version)
    : options_(options),
      started_at_(now),
      versions_(first_version),
      last_published_(now - options.announce_every) {}

bool Office::ask(Time now) {
  const Time pause = leader_ ? options_.pause : Time(0);
  if (asking_ || (last_asked_ && now - *last_asked_ < pause)) return false;
  asking_ = true;
  last_asked_ = now;
  return true;
}

uint64_t Office::publish(Time now) {
  last_published_ = now;
  return ++versions_;
}

std::vector<NodeId> Office::heard(const std::vector<Candidate>& candidates, Time now) {
  asking_ = false;
  std::vector<NodeId> unknown;
  const auto watched = watched_of(candidates);
  for (const Candidate& one : candidates) {
    if (auto dead = dead_.find(one.node); dead != dead_.end()) dead->second = now;
    if (watched.count(one.node) == 0) continue;
    const bool is_new = candidates_.insert_or_assign(one.node, now).second;
    if (is_new && one.node != options_.self) unknown.push_back(one.node);
  }
  forget(now);
  return unknown;
}

/// The dead among the smallest take no place.
std::set<NodeId> Office::watched_of(const std::vector<Candidate>& candidates) const {
  std::set<NodeId> watched, standing_by;
  for (const Candidate& one : candidates) (one.active ? watched : standing_by).insert(one.node);
  size_t living = 0;
  for (const NodeId& node : standing_by) {
    if (living == kWatched) break;
    living += dead_.count(node) == 0 ? 1 : 0;
    watched.insert(node);
  }
  return watched;
}

void Office::forget(Time now) {
  for (auto* nodes : {&candidates_, &dead_})
    for (auto it = nodes->begin(); it != nodes->end();)
      it = now - it->second > options_.forget_after ? nodes->erase(it) : std::next(it);
}

Office::Decision Office::decide(const std::vector<Candidate>& candidates, Time now) {
  using Kind = ElectionDecision::Kind;
  std::set<NodeId> dead;
  for (const auto& [node, named] : dead_) dead.insert(node);
  const auto decision = elect({options_.self, term_, active_}, candidates, dead);
  if (!active_)
    term_ = std::max(term_, decision.kind == Kind::kTakeOver ? decision.term - 1 : decision.term);
  switch (decision.kind) {
    case Kind::kFollow:
      leader_ = decision.leader;
      return {};
    case Kind::kStepDown:
      active_ = false;
      return {Ruling::kStepDown, decision.reason};
    case Kind::kTakeOver:
      // A newcomer first learns who is there; a standby whose leader died does not wait.
      if (dead_.empty() && now - started_at_ < options_.patience) return {};
      active_ = true;
      term_ = decision.term;
      leader_ = options_.self;
      return {Ruling::kTakeOver, decision.reason};
    default:
      return {};
  }
}

void Office::unreachable(const NodeId& node, Time now) {
  dead_[node] = now;
  candidates_.erase(node);
}

bool Office::link_down(const NodeId& node, Time now) {
  if (candidates_.erase(node) == 0) return false;  // it is dialled again while its record lives
  dead_[node] = now;
  if (leader_ == node) leader_.reset();
  return true;
}

}  // namespace swarm::routing
