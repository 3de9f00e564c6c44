#include "routing/averaging/readers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/check.h"

namespace swarm::routing {
namespace {

/// What it costs must be more than what it saves by a factor to make it a reader, and less to end that.
constexpr double kOver = 1.25, kUnder = 0.8;
/// Of the step: below it nobody minds.
constexpr double kLeast = 0.05;
constexpr double kNew = 0.3;

}  // namespace

StepWithout Readers::with_all(const Done& step) const {
  std::vector<std::vector<double>> slots;
  for (const Round& round : step.rounds) {
    slots.emplace_back();
    for (const Member& member : round.members)
      slots.back().push_back(worth(member.peer).value_or(Worth()).slots);
  }
  return StepWithout(step, std::move(slots));
}

Readers::Places Readers::too_costly(const Done& step, bool patient) const {
  StepWithout rest = with_all(step);
  Places without, best;
  double most_s = 0;
  for (const Place& place : rest.slow_ones()) {
    const Record& record = record_of(step, place);
    if (patient && record.rounds < (record.on_trial ? 1 : kPatience)) continue;
    rest.remove(place);
    without.push_back(place);
    if (!rest.all_slow()) continue;
    const double costs_s = rest.costs_s(), saves_s = rest.saves_s();
    const bool enough = costs_s > kOver * saves_s && costs_s > kLeast * (step.filling_s + costs_s);
    if (!enough || costs_s - saves_s <= most_s) continue;
    most_s = costs_s - saves_s;
    best = without;
  }
  return best;
}

// -- a step

void Readers::done(const Done& step) {
  due_.clear();
  note_members(step);
  std::set<PeerId> costly;
  const Places places = too_costly(step, false);
  for (const Place& place : places) costly.insert(peer_of(step, place));
  for (const Round& round : step.rounds)
    for (const Member& member : round.members) {
      Record& record = records_.at(member.peer);
      const bool too_much = costly.count(member.peer) != 0;
      record.rounds = too_much ? record.rounds + 1 : 0;
      if (!too_much) record.on_trial = false;
    }
  note_worth(step, places);
  note_due(step);
  count_readers(step);
  latest_ = step;
}

void Readers::note_members(const Done& step) {
  for (size_t stage = 0; stage < step.rounds.size(); ++stage)
    for (const Member& member : step.rounds[stage].members) {
      Record& record = records_[member.peer];
      const auto slots = static_cast<double>(member.slots);
      double& known = record.worth.slots;
      known = record.seen ? known + kNew * (slots - known) : slots;
      record.stage = Stage(static_cast<uint32_t>(stage));
      record.reads = false;
      record.seen = true;
      record.link = member.link;
    }
}

/// What each of them costs if the others of them are gone.
void Readers::note_worth(const Done& step, const Places& costly) {
  if (costly.empty()) return;
  StepWithout rest = with_all(step);
  for (const Place& place : costly) rest.remove(place);
  const double most_s = rest.most_saved_s(), without_s = rest.stall_s();
  for (const Place& place : costly) {
    rest.put_back(place);
    const double with_s = rest.stall_s();
    rest.remove(place);
    Worth& worth = records_.at(peer_of(step, place)).worth;
    worth.costs_s = std::min(most_s, with_s - without_s);
    worth.saves_s = rest.saves_s(place);
  }
}

/// One of a stage at a time, who costs most beyond what it brings: without it the others may be worth what
/// they cost.
void Readers::note_due(const Done& step) {
  const auto over_s = [this](const PeerId& one) {
    const Worth& worth = records_.at(one).worth;
    return worth.costs_s - worth.saves_s;
  };
  for (const Place& place : too_costly(step, true)) {
    const PeerId& peer = peer_of(step, place);
    const auto [chosen, first] = due_.try_emplace(records_.at(peer).stage, peer);
    if (!first && over_s(peer) > over_s(chosen->second)) chosen->second = peer;
  }
}

void Readers::count_readers(const Done& step) {
  Done with = step;
  std::vector<std::pair<PeerId, Place>> readers;
  for (const auto& [peer, record] : records_) {
    const size_t stage = record.stage.value();
    if (!record.reads || stage >= step.rounds.size()) continue;
    readers.push_back({peer, {stage, with.rounds[stage].members.size()}});
    with.rounds[stage].members.push_back({peer, record.link, 0});
  }
  if (readers.empty()) return;
  StepWithout rest = with_all(with);
  for (const auto& [peer, place] : readers) rest.remove(place);
  const double without_s = rest.stall_s();
  for (const auto& [peer, place] : readers) {
    rest.put_back(place);
    const double costs_s = rest.stall_s() - without_s;
    rest.remove(place);
    Record& record = records_.at(peer);
    ++record.rounds;
    const bool better = costs_s < kUnder * record.worth.saves_s;
    if (!better && record.rounds < record.ask_after) continue;
    record.reads = false;
    record.on_trial = true;
    record.rounds = 0;
  }
}

// -- readers

void Readers::told(const PeerId& peer, const MemberLink& link) {
  const auto found = records_.find(peer);
  if (found != records_.end() && link.up > 0 && link.down > 0) found->second.link = link;
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
  const auto& members = latest_.rounds.at(stage.value()).members;
  const auto member = std::find_if(members.begin(), members.end(),
                                   [&peer](const Member& one) { return one.peer == peer; });
  SWARM_CHECK(member != members.end());
  StepWithout rest = with_all(latest_);
  rest.remove({stage.value(), static_cast<size_t>(member - members.begin())});
  const double step_s = latest_.filling_s + rest.stall_s();
  const double rounds = record.worth.costs_s / std::max(1e-9, step_s * kTrialShare);
  record.ask_after = static_cast<int>(std::clamp(rounds, double{kAskAgain}, double{kAskLatest}));
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
  for (auto it = records_.begin(); it != records_.end();) {
    Record& record = it->second;
    record.away = is_here(it->first) ? 0 : record.away + 1;
    const int most = record.reads || record.on_trial ? kAskLatest : 0;
    it = record.away > most ? records_.erase(it) : std::next(it);
  }
  for (auto it = due_.begin(); it != due_.end();)
    it = is_here(it->second) ? std::next(it) : due_.erase(it);
}

}  // namespace swarm::routing
