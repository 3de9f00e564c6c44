#include "routing/membership/office.h"

#include <algorithm>

#include "routing/membership/term.h"

namespace swarm::routing {
namespace {

/// A record that was on its way when its node died may still come; a second one is not of the dead.
constexpr int kProof = 2;
/// Without a further record a node that has shown that it lives counts as dead after so many.
constexpr int kSilentRecords = 3;

}  // namespace

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
  std::vector<NodeId> others;
  const auto watched = watched_of(candidates);
  for (const Candidate& one : candidates) {
    if (auto dead = dead_.find(one.node); dead != dead_.end()) renewed(dead->second, one, now);
    if (watched.count(one.node) == 0) continue;
    candidates_.insert_or_assign(one.node, Heard{now, one.version, one.term});
    if (one.node != options_.self) others.push_back(one.node);
  }
  forget(now);
  return others;
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
  for (auto it = candidates_.begin(); it != candidates_.end();)
    it = now - it->second.named > options_.forget_after ? candidates_.erase(it) : std::next(it);
  for (auto it = dead_.begin(); it != dead_.end();)
    it = now - it->second.last.named > options_.forget_after ? dead_.erase(it) : std::next(it);
}

void Office::renewed(Death& death, const Candidate& record, Time now) const {
  death.last.named = now;
  if (record.version <= death.last.version) return;
  death.last.version = record.version;
  ++death.renewals;
  if (death.renewals >= kProof || (record.active && record.term > death.last.term))
    death.lives_until = now + kSilentRecords * options_.announce_every;
}

void Office::bury(const NodeId& node, Time now) {
  if (auto known = dead_.find(node); known != dead_.end()) {  // what it has shown since stands
    known->second.last.named = now;
    candidates_.erase(node);
    return;
  }
  Death death;
  if (auto known = candidates_.find(node); known != candidates_.end()) death.last = known->second;
  death.last.named = now;
  dead_[node] = death;
  candidates_.erase(node);
}

Office::Decision Office::decide(const std::vector<Candidate>& candidates, Time now) {
  using Kind = ElectionDecision::Kind;
  std::set<NodeId> dead;
  for (const auto& [node, death] : dead_)
    if (now >= death.lives_until) dead.insert(node);
  const Candidate self{options_.self, term_, active_, versions_, yields(), vain_};
  const auto decision = elect(self, candidates, dead);
  rivals_ = 0;
  uint32_t vain = vain_;
  for (const Candidate& one : candidates) {
    if (one.node == options_.self || dead.count(one.node) != 0) continue;
    ++rivals_;
    vain = std::max(vain, one.vain);
    if (decision.kind != Kind::kFollow || one.node != decision.leader) continue;
    vain_ = one.vain;
    if (vain_ == 0)
      yields_ = 0;  // it trains: what was in vain before says nothing of the next time
  }
  if (!active_) learn_term(highest_term(self, candidates), now);
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
      yields_ = 0;
      vain_ = vain + 1;
      term_ = next_term(term_, options_.self);
      leader_ = options_.self;
      return {Ruling::kTakeOver, decision.reason};
    default:
      return {};
  }
}

void Office::raise_term(Term seen) { term_ = next_term(seen, options_.self); }

/// The term that follows is one more.
std::optional<Term> Office::led_to(Term seen, Time now) {
  if (!(term_ < seen) || (last_led_ && now - *last_led_ < kBetweenRaises)) return std::nullopt;
  const uint64_t ours = term_number(term_), wants = term_number(seen) - ours + 1;
  const uint64_t steps = std::min({wants, kTermJump, lead_.left(now)});
  if (steps == 0) return std::nullopt;
  lead_.led(steps, now);
  last_led_ = now;
  return steps == wants ? seen : Term((ours + steps - 1) << kTermNodeBits);
}

void Office::learn_term(Term seen, Time now) {
  if (!(term_ < seen) || !lead_.allows(seen, term_, now)) return;
  lead_.led(term_, seen, now);
  term_ = seen;
}

void Office::resign() {
  active_ = false;
  yields_ = std::max(vain_, 1u);
  leader_.reset();
}

void Office::unreachable(const NodeId& node, Time now) { bury(node, now); }

bool Office::link_down(const NodeId& node, Time now) {
  if (candidates_.count(node) == 0) return false;  // it is dialled again while its record lives
  bury(node, now);
  if (leader_ == node) leader_.reset();
  return true;
}

}  // namespace swarm::routing
