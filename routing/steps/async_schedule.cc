#include "routing/steps/async_schedule.h"

#include <algorithm>
#include <set>

#include "routing/membership/replicas.h"

namespace swarm::routing {
namespace {

using At = StageRound::At;

/// The last averaging makes replicas equal: it is tried this often, at this distance.
/// For longer than it takes to know that two members cannot reach each other.
constexpr int kLastRounds = 12;
constexpr Time kLastRoundPause = std::chrono::milliseconds(500);
static_assert(kLastRounds * kLastRoundPause > Reach::kCertain);

}  // namespace

// -- periods

void AsyncSchedule::close() {
  ahead_.clear();
  averaged_.clear();
  last_round_ = false;
  Schedule::close();
}

std::vector<StepLedger*> AsyncSchedule::ledgers() {
  auto all = Schedule::ledgers();
  for (auto& ledger : ahead_) all.push_back(ledger.get());
  return all;
}

void AsyncSchedule::begin(Step step) {
  opened_ = step;
  if (step.value() >= frame_.options.steps && !replicas_equal()) {
    // The coordinator before may have died in the last averaging.
    const Step last(frame_.options.steps - 1);
    frame_.enter(last, last);
    return begin_last_round();
  }
  frame_.enter(step, step);
  frame_.open.ledger = frame_.make_ledger(step);
  frame_.agreement.want(step);
  frame_.order(orders::ServeLeases{});
  advance();
}

bool AsyncSchedule::replicas_equal() const {
  for (Stage stage; stage.value() < frame_.roster.num_stages(); ++stage) {
    std::set<uint64_t> checksums;
    for (const PeerId& id : frame_.roster.serving(stage))
      checksums.insert(frame_.roster.peers().at(id).checksum);
    if (checksums.size() != 1 || *checksums.begin() == 0) return false;
  }
  return true;
}

Leases AsyncSchedule::lease(const ActorId& trainer, uint32_t max_slots, double deadline_s) {
  Leases leases = Schedule::lease(trainer, max_slots, deadline_s);
  if (leases.slots.empty() && frame_.is_open() && open_next_period())
    leases = Schedule::lease(trainer, max_slots, deadline_s);
  leases.step_waits = false;
  return leases;
}

bool AsyncSchedule::open_next_period() {
  const Step next = ahead_.empty() ? frame_.open.step + 1 : ahead_.back()->step() + 1;
  const bool enough = ahead_.size() + 1 >= frame_.options.open_periods;
  if (next.value() >= frame_.options.steps || enough || last_round_) return false;
  ahead_.push_back(frame_.make_ledger(next));
  return true;
}

void AsyncSchedule::advance() {
  if (frame_.nothing_to_train()) {
    if (frame_.open.ledger->full()) frame_.finish();
    return;
  }
  while (frame_.open.ledger && frame_.open.ledger->full()) {
    if (frame_.diverged() || !frame_.agreement.reached(frame_.open.step)) return;
    const bool last = frame_.open.step + 1 == Step(frame_.options.steps);
    if (last && averaging()) return;  // the last round is for all of it
    close_period();
  }
  if (last_round_ && !averaging()) end_last_round();
}

bool AsyncSchedule::averaging() const {
  const auto& stages = frame_.open.stages;
  return std::any_of(stages.begin(), stages.end(), [](const auto& one) { return one.runs(); });
}

/// The oldest period is done: its line of metrics, its averaging, and on to the next.
void AsyncSchedule::close_period() {
  OpenStep& open = frame_.open;
  const Step period = open.step, next = period + 1;
  open.closed_at = frame_.now;
  frame_.agreement.committed(History(), frame_.now);
  frame_.write_metrics(open, std::nullopt);
  open.ledger.reset();
  open.opened_at = frame_.now;
  if (next.value() == frame_.options.steps) return begin_last_round();
  const bool average = next.value() % frame_.options.average_every == 0;
  const bool save = frame_.saves.decide(next, frame_.roster, frame_.now);
  for (Stage stage; stage.value() < open.stages.size(); ++stage)
    end_period(stage, period, average, save);
  if (ahead_.empty()) open_next_period();
  open.step = open.computed_on = next;
  open.ledger = std::move(ahead_.front());
  ahead_.pop_front();
  frame_.agreement.want(next);
  frame_.order(orders::ServeLeases{});
}

// -- rounds

/// What it leaves behind is saved when all are done: replicas' last snapshots are equal.
void AsyncSchedule::begin_last_round() {
  last_round_ = true;
  last_tries_.assign(frame_.open.stages.size(), 1);
  for (Stage stage; stage.value() < frame_.open.stages.size(); ++stage)
    end_period(stage, Step(frame_.options.steps - 1), true, false);
}

/// Who failed it, or came in while it ran, fetches what the others of its stage have.
void AsyncSchedule::end_last_round() {
  last_round_ = false;
  for (Stage stage; stage.value() < frame_.open.stages.size(); ++stage) {
    const auto have = frame_.open.stages[stage.value()].averaged();
    if (have.empty()) continue;
    for (const PeerId& id : frame_.roster.serving(stage))
      if (std::count(have.begin(), have.end(), id) == 0)
        frame_.send_back(id, "it has missed the last averaging");
  }
  const Step end(frame_.options.steps);
  frame_.enter(end, end);
  frame_.open.ledger = frame_.make_ledger(end);
  frame_.order(orders::ServeLeases{});
  advance();
}

void AsyncSchedule::end_period(Stage stage, Step period, bool average, bool save) {
  orders::EndPeriod message;
  message.stage = stage;
  message.period = period;
  const bool busy = frame_.open.stages[stage.value()].runs();
  while (average && !busy && frame_.set_aside(stage, message.relays)) {
  }
  message.members = frame_.roster.serving(stage);
  message.save = save;
  message.keep = frame_.saves.keep(frame_.roster);
  message.blocking =
      !frame_.options.background_averaging || period + 1 == Step(frame_.options.steps);
  if (average && busy)
    frame_.note(facts::AveragingSkipped{"the one before still runs"}, stage);
  else if (average)
    begin_round(stage, message);
  frame_.order(std::move(message));
}

void AsyncSchedule::begin_round(Stage stage, orders::EndPeriod& message) {
  using Kind = StageRound::Kind;
  StageRound& round = frame_.open.stages[stage.value()];
  round = StageRound{};
  round.at = At::kAveraging;
  round.round = message.round = frame_.next_round();
  round.relays = message.relays;
  for (const PeerId& id : message.members) {
    const PeerFacts& peer = frame_.roster.peers().at(id);
    round.answers[id] = peer.reachable ? Kind::kPending : Kind::kFailed;
    round.members.push_back({id, peer.node_name, {}, {}});
  }
  message.part_weights = frame_.part_weights(stage, round.members);
  message.most_samples = most_samples(stage, message.period);
  if (round.any_pending()) return;
  frame_.order(orders::Later{orders::Later::What::kRoundOver, Time(0), stage, round.round});
}

/// Of one peer, as each trains on a slot once: all that was leased since the last average that every member
/// took, and what was under way. Where this coordinator knows of none, one is taken to have been made when it
/// was due before the opening: who has trained on more since counts as whoever else has.
uint64_t AsyncSchedule::most_samples(Stage stage, Step period) {
  Averaged& averaged = averaged_[stage];
  averaged.began = period;
  const uint64_t every = frame_.options.average_every;
  const uint64_t due = opened_.value() - std::min(opened_.value(), every);
  const uint64_t last = averaged.last ? averaged.last->value() : due;
  const uint64_t periods = period.value() - last + 2 * frame_.options.open_periods;
  return periods * frame_.options.slots * frame_.options.microbatch;
}

Orders AsyncSchedule::period_answered(const RoundMember& member, const Result<PeriodAnswer>& answer,
                                      Time now) {
  using Kind = StageRound::Kind;
  start(now);
  if (!frame_.is_open()) return done();
  if (answer.code() == ErrorCode::kStaleTerm) {
    frame_.order(orders::StepDown{"a peer follows a newer term"});
    return done();
  }
  const bool averaged = answer && !answer->failed;
  if (averaged) take(member, *answer);
  StageRound& round = frame_.open.stages[member.stage.value()];
  const auto found = round.answers.find(member.peer);
  const bool expected = member.round != Round() && round.round == member.round &&
                        found != round.answers.end() && round.runs();
  if (!expected) return done();
  found->second = averaged ? Kind::kAveraged : Kind::kFailed;
  if (averaged)
    frame_.note(facts::MemberAveraged{member.peer, answer->took_s, answer->stalled_s},
                member.stage);
  else
    frame_.note(facts::MemberFailed{member.peer, answer ? answer->failed->error : answer.error()},
                member.stage);
  if (answer && answer->failed) {
    frame_.unreached(member, round.in_order(), *answer->failed);
    refuse_weights(member, round, *answer->failed);
  }
  if (!round.any_pending()) round_over(member.stage);
  return done();
}

void AsyncSchedule::take(const RoundMember& member, const PeriodAnswer& answer) {
  PeerFacts* peer = frame_.roster.find(member.peer);
  if (peer == nullptr) return;
  peer->checksum = answer.checksum;
  peer->checksum_step.reset();  // it trains on, or says at which step it is when it registers
  peer->after_round.reset();
  const uint64_t left = answer.checksum != 0 ? answer.checksum : answer.digest;
  if (left != 0) peer->after_round = RoundChecksum{member.round, left};
}

/// Weights that are not finite: who has them fetches what another one has, if there is one.
void AsyncSchedule::refuse_weights(const RoundMember& by, const StageRound& round,
                                   const RoundFailure& failure) {
  const auto members = round.in_order();
  for (const uint32_t place : failure.not_finite) {
    PeerFacts* peer = place < members.size() ? frame_.roster.find(members[place]) : nullptr;
    if (peer == nullptr || !peer->serving || frame_.roster.serving(by.stage).size() < 2) continue;
    frame_.note(facts::SumNotFinite{members[place], by.peer, 0}, by.stage);
    peer->wrong_checksum = peer->checksum != 0 ? peer->checksum : PeerFacts::kWrongAnyhow;
    frame_.send_back(members[place], "its weights are not finite");
  }
}

/// The actor is gone, maybe without its link: its answer may never come. What it held is in the
/// averages, or gone.
void AsyncSchedule::member_lost(const PeerId& id, Stage stage) {
  StageRound& round = frame_.open.stages[stage.value()];
  const auto member = round.answers.find(id);
  const bool pending =
      round.runs() && member != round.answers.end() && member->second == StageRound::Kind::kPending;
  if (!pending) return;
  member->second = StageRound::Kind::kFailed;
  if (!round.any_pending()) round_over(stage);
}

/// Every member has answered, one way or the other.
void AsyncSchedule::round_over(Stage stage) {
  StageRound& round = frame_.open.stages[stage.value()];
  if (last_round_ && !round.all_averaged() && last_tries_[stage.value()] < kLastRounds) {
    ++last_tries_[stage.value()];
    return frame_.order(
        orders::Later{orders::Later::What::kLastRound, kLastRoundPause, stage, round.round});
  }
  if (round.all_averaged()) {
    frame_.reach.reached(round.in_order(), round.relays);
    averaged_[stage].last = averaged_[stage].began;
  }
  round.at = At::kFilling;
  compare(stage, round);
  advance();
}

/// After a blocking round members have the same parameters; of another one, they have added the same to them.
void AsyncSchedule::compare(Stage stage, const StageRound& round) {
  const Replicas replicas(frame_.roster);
  const auto compared = replicas.after(round.round, round.averaged());
  const bool blocking = !frame_.options.background_averaging || last_round_;
  if (blocking) frame_.note_replicas(stage, frame_.open.step, compared);
  if (compared.checksums.size() < 2) return;
  const auto odd = frame_.repairs.replace_odd(frame_, frame_.open.step,
                                              replicas.of(round.round, round.averaged()));
  for (const Replica& one : odd)
    if (!blocking) frame_.note(facts::AveragesDiffer{one.peer}, stage);
}

void AsyncSchedule::round_due(const orders::Later& later) {
  StageRound& round = frame_.open.stages[later.stage.value()];
  if (round.round != later.round) return;
  if (later.what == orders::Later::What::kRoundOver) return round_over(later.stage);
  round.at = At::kFilling;
  end_period(later.stage, Step(frame_.options.steps - 1), true, false);
}

// -- peers

Admission AsyncSchedule::judge_admission(const PeerId& id) const {
  Whereabouts where = frame_.whereabouts(applied());
  where.finished = frame_.nothing_to_train();  // replicas are equal from the last averaging on
  return admit_at_period(id, frame_.roster, where);
}

}  // namespace swarm::routing
