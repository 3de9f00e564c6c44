#include "routing/averaging/readers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace swarm::routing {
namespace {

/// A member's links are the reason only if they are slower than this, of the others' median.
constexpr double kSlow = 0.5;
/// What it costs must be more than what it saves by a factor to make it a reader, and less to end that.
constexpr double kOver = 1.25, kUnder = 0.8;
/// Of the step: below it nobody minds.
constexpr double kLeast = 0.05;
constexpr double kNew = 0.3;

double slowest(const MemberLink& link) { return std::min(link.up, link.down); }
bool is_known(const MemberLink& link) { return link.up > 0 && link.down > 0; }

/// The round's part of a step that everybody waits for.
double stall_s(const std::vector<Readers::Member>& members, const Readers::Done& round) {
  std::vector<MemberLink> links;
  for (const auto& member : members) links.push_back(member.link);
  if (links.size() < 2) return 0;
  const double took_s = round_seconds(links, best_weights(links), round.bytes);
  return std::max(0.0, took_s - round.hidden_s);
}

/// Its links are known, and slow beside those of the others.
bool is_slow(const std::vector<Readers::Member>& members, size_t member) {
  if (!is_known(members[member].link)) return false;
  std::vector<double> others;
  for (size_t i = 0; i < members.size(); ++i)
    if (i != member && is_known(members[i].link)) others.push_back(slowest(members[i].link));
  if (others.empty()) return false;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return slowest(members[member].link) < kSlow * *middle;
}

double saved_s(double slots, double all, double filling_s) {
  if (slots <= 0) return 0;
  return slots < all ? filling_s * slots / (all - slots) : std::numeric_limits<double>::infinity();
}

}  // namespace

Readers::Worth Readers::worth_of(size_t member, const Done& round) const {
  auto others = round.members;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(member));
  double all = 0;
  for (const Member& one : round.members) all += static_cast<double>(one.slots);
  const Member& one = round.members[member];
  Worth worth;
  worth.slots = static_cast<double>(one.slots);
  const auto before = records_.find(one.peer);
  if (before != records_.end() && before->second.seen) {
    const double known = before->second.worth.slots;
    worth.slots = known + kNew * (worth.slots - known);
  }
  worth.costs_s = stall_s(round.members, round) - stall_s(others, round);
  worth.saves_s = saved_s(worth.slots, all, round.filling_s);
  return worth;
}

bool Readers::costs_too_much(const Worth& worth, const Done& round) {
  return worth.costs_s > kOver * worth.saves_s &&
         worth.costs_s > kLeast * (round.filling_s + worth.costs_s);
}

void Readers::done(Stage stage, const Done& round) {
  due_.erase(stage);
  note(stage, round);
  count_readers(stage, round);
  latest_[stage] = round;
}

/// One at a time: without the worst of them the others may be worth what they cost.
void Readers::note(Stage stage, const Done& round) {
  const Member* worst = nullptr;
  double most_s = 0;
  for (size_t i = 0; i < round.members.size(); ++i) {
    const Member& member = round.members[i];
    const Worth worth = worth_of(i, round);
    Record& record = records_[member.peer];
    record.stage = stage;
    record.reads = false;
    record.seen = true;
    record.worth = worth;
    record.link = member.link;
    const bool too_much =
        round.members.size() > 1 && is_slow(round.members, i) && costs_too_much(worth, round);
    record.rounds = too_much ? record.rounds + 1 : 0;
    if (!too_much) record.on_trial = false;
    const bool long_enough = record.rounds >= (record.on_trial ? 1 : kPatience);
    const double over_s = worth.costs_s - worth.saves_s;
    if (!too_much || !long_enough || over_s <= most_s) continue;
    worst = &member;
    most_s = over_s;
  }
  if (worst != nullptr) due_[stage] = worst->peer;
}

void Readers::count_readers(Stage stage, const Done& round) {
  for (auto& [peer, record] : records_) {
    if (!record.reads || record.stage != stage) continue;
    ++record.rounds;
    Done with = round;
    with.members.push_back({peer, record.link, 0});
    const double costs_s = stall_s(with.members, round) - stall_s(round.members, round);
    const bool better = costs_s < kUnder * record.worth.saves_s;
    if (!better && record.rounds < record.ask_after) continue;
    record.reads = false;
    record.on_trial = true;
    record.rounds = 0;
  }
}

void Readers::told(const PeerId& peer, const MemberLink& link) {
  const auto found = records_.find(peer);
  if (found != records_.end() && is_known(link)) found->second.link = link;
}

std::optional<PeerId> Readers::due(Stage stage) const {
  const auto found = due_.find(stage);
  if (found == due_.end()) return std::nullopt;
  return found->second;
}

void Readers::begin(Stage stage, const PeerId& peer) {
  SWARM_CHECK(due(stage) == peer);
  due_.erase(stage);
  Record& record = records_.at(peer);
  record.reads = true;
  record.on_trial = false;
  record.rounds = 0;
  // The trial makes one step longer by what it costs.
  const Done& round = latest_.at(stage);
  const double step_s = round.filling_s + stall_s(round.members, round) - record.worth.costs_s;
  const double rounds = record.worth.costs_s / std::max(1e-9, step_s * kTrialShare);
  record.ask_after = static_cast<int>(std::clamp(rounds, double{kAskAgain}, 1e6));
}

bool Readers::reads(const PeerId& peer) const {
  const auto found = records_.find(peer);
  return found != records_.end() && found->second.reads;
}

std::optional<Readers::Worth> Readers::worth(const PeerId& peer) const {
  const auto found = records_.find(peer);
  if (found == records_.end() || !found->second.seen) return std::nullopt;
  return found->second.worth;
}

void Readers::admit_all() {
  for (auto& [peer, record] : records_) {
    record.on_trial |= record.reads;
    record.reads = false;
    record.rounds = 0;
  }
  due_.clear();
}

void Readers::keep(const std::function<bool(const PeerId&)>& is_here) {
  const auto drop = [&is_here](auto& map, auto peer_of) {
    for (auto it = map.begin(); it != map.end();)
      it = is_here(peer_of(*it)) ? std::next(it) : map.erase(it);
  };
  drop(records_, [](const auto& one) { return one.first; });
  drop(due_, [](const auto& one) { return one.second; });
}

}  // namespace swarm::routing
