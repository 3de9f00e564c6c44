#include "routing/steps/open_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "common/mix.h"
#include "routing/membership/majority.h"

namespace swarm::routing {
namespace {

/// After the first failed answer of a round: members that live have answered by then.
constexpr Time kRoundGrace = std::chrono::milliseconds(500);
/// Deadlines of members differ by their own measurements: by this part of how long the first had.
constexpr int kLateGrace = 4;

template <class Answers, class Kind>
bool any(const Answers& answers, Kind kind) {
  return std::any_of(answers.begin(), answers.end(),
                     [kind](const auto& one) { return one.second == kind; });
}

/// A lost link is reported by itself too; whichever comes first.
bool is_lost(ErrorCode code) {
  return code == ErrorCode::kLinkLost || code == ErrorCode::kShuttingDown ||
         code == ErrorCode::kNotFound;
}

}  // namespace

bool StageRound::any_answer() const {
  return std::any_of(answers.begin(), answers.end(),
                     [](const auto& one) { return one.second != Kind::kPending; });
}

bool StageRound::any_pending() const { return any(answers, Kind::kPending); }

bool StageRound::misses(const PeerId& id) const {
  const auto member = answers.find(id);
  return runs() && member != answers.end() && member->second != Kind::kAveraged;
}

bool StageRound::all_averaged() const {
  return std::all_of(answers.begin(), answers.end(),
                     [](const auto& one) { return one.second == Kind::kAveraged; });
}

std::vector<PeerId> StageRound::ids() const {
  std::vector<PeerId> all;
  for (const auto& [id, answer] : answers) all.push_back(id);
  return all;
}

std::vector<PeerId> StageRound::in_order() const {
  std::vector<PeerId> all;
  for (const Share& one : members) all.push_back(one.peer);
  return all;
}

std::vector<PeerId> StageRound::averaged() const {
  std::vector<PeerId> have;
  for (const auto& [id, answer] : answers)
    if (answer == Kind::kAveraged) have.push_back(id);
  return have;
}

void StageRound::take(const PeerId& member, const Result<CloseAnswer>& answer, Time now) {
  if (answer && answer->failed) blame(member, answer->failed->not_finite);
  Kind& kind = answers[member];
  if (kind == Kind::kNotFinite) return;
  if (!answer) {
    kind = is_lost(answer.code()) ? Kind::kLost : Kind::kFailed;
  } else if (answer->failed) {
    kind = Kind::kFailed;
    for (const uint32_t place : answer->failed->unreached) {
      if (answer->failed->link)
        excuse(place);
      else if (place < members.size())
        missed.insert(members[place].peer);
    }
  } else if (answer->holds_more) {
    kind = Kind::kHoldsMore;
  } else {
    averages[member] = {answer->digest, answer->squared_norm};
    if (answer->brought) brought[member] = *answer->brought;
    kind = Kind::kAveraged;
  }
  if (kind != Kind::kAveraged && !first_failure) first_failure = now;
  late |= answer && answer->failed && answer->failed->late;
  const bool link = answer && answer->failed && answer->failed->link;
  if (link && !answer->failed->unreached.empty() && links_failed < 2) {
    ++links_failed;
    first_failure = now;
  }
}

void StageRound::blame(const PeerId& by, const std::vector<uint32_t>& places) {
  for (const uint32_t place : places) {
    if (place >= members.size() || answers.count(members[place].peer) == 0) continue;
    answers[members[place].peer] = Kind::kNotFinite;
    not_finite.emplace(members[place].peer, by);
  }
}

void StageRound::excuse(size_t place) {
  if (place >= members.size()) return;
  const auto found = answers.find(members[place].peer);
  if (found != answers.end() && found->second == Kind::kPending) found->second = Kind::kFailed;
}

/// Requires that all members have averaged.
RoundVerdict StageRound::compare_averages() {
  std::vector<Said> said;
  for (const auto& [id, one] : averages) {
    uint64_t norm = 0;
    std::memcpy(&norm, &one.squared_norm, sizeof norm);
    said.push_back({id, mix(one.digest ^ mix(norm))});
  }
  RoundVerdict verdict;
  verdict.odd = believe(said).odd;
  verdict.kind = verdict.odd.empty() ? RoundVerdict::Kind::kAveraged : RoundVerdict::Kind::kAbandon;
  const Average& one = averages.begin()->second;
  if (verdict.odd.empty() && !std::isfinite(one.squared_norm)) {
    verdict.kind = RoundVerdict::Kind::kAbandon;
    for (const Share& member : members) {
      if (member.slots.empty()) continue;
      verdict.not_finite.push_back(member.peer);
      not_finite.emplace(member.peer, member.peer);
    }
  }
  digest = one.digest;
  squared_norm = one.squared_norm;
  return verdict;
}

Time StageRound::grace() const {
  // The other end of a link that failed may notice later, and third members hear of it from there only.
  if (links_failed > 0) return 2 * kRoundGrace;
  return late ? std::max(kRoundGrace, (*first_failure - began) / kLateGrace) : kRoundGrace;
}

bool StageRound::excuses(const PeerId& id) const {
  return late && links_failed == 0 && missed.count(id) == 0 && excused.count(id) == 0;
}

RoundVerdict StageRound::judge(Time now) {
  std::vector<MemberAnswer> all;
  for (const auto& [id, answer] : answers) all.push_back({id, answer, excuses(id)});
  RoundVerdict verdict = judge_round(all, first_failure && now - *first_failure > grace());
  if (verdict.kind == RoundVerdict::Kind::kAveraged) return compare_averages();
  if (verdict.kind == RoundVerdict::Kind::kAbandon)
    for (const MemberAnswer& one : all)
      if (one.kind == Kind::kPending && one.excused) excused.insert(one.peer);
  return verdict;
}

bool OpenStep::all_averaged() const {
  return std::all_of(stages.begin(), stages.end(),
                     [](const auto& one) { return one.at == StageRound::At::kAveraged; });
}

double OpenStep::gradient_norm() const {
  double squared = 0;
  for (const auto& stage : stages) squared += stage.squared_norm;
  return std::sqrt(squared);
}

void OpenStep::rebuild(const PeerId& id, const PeerFacts& peer) {
  ledger->rebuild(id, peer.stage, peer.held);
  for (const SlotLoss& one : peer.losses) ledger->rebuild_loss(one.slot, one.loss_sum, one.samples);
}

bool OpenStep::enter(const PeerId& id, const PeerFacts& peer) {
  if (peer.held.empty()) {
    ledger->peer_lost(id, /*may_return=*/true);  // attempts leased before do not count for it
    return true;
  }
  rebuild(id, peer);
  std::set<Slot> held;
  for (const auto& [slot, attempt] : peer.held) held.insert(slot);
  const auto counted = ledger->counted(peer.stage)[id];
  if (std::set<Slot>(counted.begin(), counted.end()) == held) return true;
  ledger->peer_lost(id, /*may_return=*/true);
  return false;
}

std::optional<PeerId> OpenStep::unreachable_holder(Stage stage, const Roster& roster) const {
  for (const auto& [holder, slots] : ledger->counted(stage)) {
    const PeerFacts* peer = roster.find(holder);
    if (peer == nullptr || !peer->serving) return holder;
  }
  return std::nullopt;
}

std::vector<Share> OpenStep::shares(Stage stage, const std::vector<PeerId>& members,
                                    const Roster& roster) const {
  auto counted = ledger->counted(stage);
  std::vector<Share> shares;
  for (const PeerId& id : members) {
    Share share{id, roster.peers().at(id).node_name, counted[id], {}};
    for (Slot slot : share.slots) share.attempts.push_back(ledger->holder(slot, stage)->attempt);
    shares.push_back(std::move(share));
  }
  return shares;
}

orders::WriteAudit OpenStep::audit() const {
  orders::WriteAudit line;
  line.step = step;
  line.computed_on = computed_on;
  line.counted_slots = ledger->counted_slots();
  line.attempts = ledger->attempts();
  line.skipped = ledger->skipped();
  for (const StageRound& stage : stages)
    line.stages.push_back(
        {stage.round, stage.digest.value_or(0), stage.members, stage.brought, stage.part_weights});
  return line;
}

CommitFacts OpenStep::facts(uint64_t configuration) const {
  CommitFacts facts{step, {}, computed_on, ledger->skipped(), configuration};
  for (const StageRound& stage : stages) facts.digests.push_back(stage.digest.value_or(0));
  return facts;
}

}  // namespace swarm::routing
