#include "routing/steps/sync_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "routing/membership/replicas.h"

namespace swarm::routing {

using At = StageRound::At;

namespace {
/// Between rounds in which nobody was lost.
constexpr Time kNextTry = std::chrono::milliseconds(300);
}  // namespace

// -- opening, closing

void SyncSchedule::begin(Step step) {
  frame_.readers.admit_all();  // who is here serves: who is needed is not known yet
  open_step(step, step);
}

void SyncSchedule::open_step(Step step, Step computed_on) {
  frame_.enter(step, computed_on);
  frame_.open.ledger = frame_.make_ledger(step);
  // An update may be under way to it; after the last one nobody need leave.
  if (step == computed_on && !frame_.nothing_to_train()) frame_.retire_readers();
  for (auto& [id, peer] : frame_.roster.peers()) {
    if (!peer.serving || peer.held.empty()) continue;
    if (!peer.commit_pending && peer.step == step)
      frame_.open.rebuild(id, peer);  // a successor goes on where the old one was
    peer.held.clear();
  }
  frame_.order(orders::ServeLeases{});
  advance();
}

void SyncSchedule::advance() {
  OpenStep& open = frame_.open;
  if (!open.full_at && open.ledger->full()) open.full_at = frame_.now;
  if (frame_.nothing_to_train()) {
    if (open.ledger->full()) frame_.finish();
    return;
  }
  if (frame_.diverged() || hold_back()) return;
  for (Stage stage; stage.value() < open.stages.size(); ++stage)
    if (open.stages[stage.value()].at == At::kFilling && open.ledger->stage_full(stage))
      start_round(stage);
  if (open.all_averaged() && open.ledger->full() && frame_.agreement.reached(open.step)) commit();
}

bool SyncSchedule::still_commits(Stage stage) const {
  const auto members = frame_.roster.serving(stage);
  return std::any_of(members.begin(), members.end(), [this](const PeerId& id) {
    return frame_.roster.peers().at(id).commit_pending;
  });
}

bool SyncSchedule::drop_unreachable_holder(Stage stage) {
  const auto holder = frame_.open.unreachable_holder(stage, frame_.roster);
  if (holder) frame_.dropped(*holder);
  return holder.has_value();
}

void SyncSchedule::start_round(Stage stage) {
  if (still_commits(stage)) return;  // commit_answered() comes back
  if (frame_.now < frame_.open.stages[stage.value()].not_before) return;  // the tick comes back
  if (drop_unreachable_holder(stage)) return;
  if (frame_.latecomers.awaited(stage, frame_.roster, frame_.now)) return;  // likewise
  std::vector<Relay> relays;
  if (!frame_.set_aside(stage, relays)) send_close(stage, false, nullptr, std::move(relays));
}

void SyncSchedule::send_close(Stage stage, bool go_on, const orders::CommitStep* commit,
                              std::vector<Relay> relays) {
  OpenStep& open = frame_.open;
  frame_.agreement.want(open.step);  // while they average
  orders::CloseStep close;
  close.stage = stage;
  close.step = open.step;
  close.round = frame_.next_round();
  close.samples = uint64_t{open.ledger->counted_slots()} * frame_.options.microbatch;
  close.members = open.shares(stage, frame_.roster.serving(stage), frame_.roster);
  close.part_weights = frame_.part_weights(stage, close.members);
  close.relays = std::move(relays);
  close.go_on = go_on;
  if (commit != nullptr) close.commit = *commit;
  StageRound& round = open.stages[stage.value()];
  auto excused = std::move(round.excused);
  round = StageRound{};
  round.excused = std::move(excused);
  round.began = frame_.now;
  round.at = At::kAveraging;
  round.round = close.round;
  round.overlapped = go_on || commit != nullptr;
  round.members = close.members;
  round.relays = close.relays;
  round.part_weights = close.part_weights;
  round.filling = open.full_at.value_or(frame_.now) - open.opened_at;
  for (const Share& member : close.members) {
    PeerFacts& peer = frame_.roster.peers().at(member.peer);
    frame_.latecomers.took_part(member.peer);
    using Kind = StageRound::Kind;
    round.answers[member.peer] = peer.reachable ? Kind::kPending : Kind::kFailed;
    if (peer.reachable) peer.commit_pending |= round.overlapped;
  }
  frame_.order(std::move(close));
}

orders::CommitStep SyncSchedule::decide_commit(const OpenStep& closing) {
  orders::CommitStep commit;
  commit.step = closing.step;
  for (const StageRound& stage : closing.stages) commit.rounds.push_back(stage.round);
  commit.gradient_norm = closing.gradient_norm();
  frame_.write_metrics(closing, commit.gradient_norm);
  commit.after = history_after(frame_.history, closing.facts(frame_.agreement.configuration()));
  frame_.history = commit.after;
  orders::WriteAudit line = closing.audit();
  line.configuration = frame_.agreement.configuration();
  line.after = commit.after;
  // Whatever is committed has had its line written before, if the disk takes any. It is not fsynced: it
  // outlives the process, and not a power cut (docs/run_folder.md).
  frame_.order(std::move(line));
  commit.save = frame_.saves.decide(closing.step + 1, frame_.roster, frame_.now);
  commit.keep = frame_.saves.keep(frame_.roster);
  frame_.agreement.committed(commit.after, frame_.now);
  return commit;
}

void SyncSchedule::commit() {
  const OpenStep closing = frame_.take();
  orders::CommitStep commit = decide_commit(closing);
  for (auto& [id, peer] : frame_.roster.peers()) {
    if (!peer.serving) continue;
    const StageRound& round = closing.stages[peer.stage.value()];
    if (round.answers.count(id) == 0) {  // joined after the round began: it has no average
      frame_.send_back(id, fmt::format("it joined during the averaging of step {}", closing.step));
      frame_.latecomers.sent_back(id, closing.closed_at - closing.opened_at, frame_.now);
      continue;
    }
    commit.peer = id;
    commit.round = round.round;
    peer.commit_pending = true;
    peer.held.clear();
    frame_.order(commit);
  }
  open_step(closing.step + 1, closing.step + 1);
}

Orders SyncSchedule::commit_answered(const PeerId& id, const Result<CommitAnswer>& answer,
                                     Time now) {
  start(now);
  PeerFacts* peer = frame_.roster.find(id);
  if (peer == nullptr) return done();
  peer->commit_pending = false;
  if (answer) {
    take(id, *answer);
    if (frame_.is_open()) advance();
    return done();
  }
  if (answer.code() == ErrorCode::kStaleTerm) {
    frame_.order(orders::StepDown{"a peer follows a newer term"});
    return done();
  }
  frame_.note(facts::CommitFailed{id, answer.error()}, peer->stage);
  if (answer.code() == ErrorCode::kPeerTimeout)
    frame_.repairs.strike(frame_, id, Strikes::Kind::kHung, "its updates do not end");
  peer->serving = false;  // it fetches the state when it registers again
  if (frame_.is_open() && frame_.roster.serving(peer->stage).empty())
    frame_.gather(fmt::format("stage {} could not commit", peer->stage));
  return done();
}

void SyncSchedule::take(const PeerId& id, const CommitAnswer& answer) {
  PeerFacts& peer = frame_.roster.peers().at(id);
  peer.step = answer.step;
  peer.history = answer.history;
  peer.open_step = frame_.open.step;
  peer.has_average = false;
  peer.checksum = answer.checksum;
  peer.checksum_step = answer.step;
  peer.changed_at_rest = answer.changed_at_rest;
  const auto found = Replicas(frame_.roster).at(peer.stage, answer.step);
  if (!found) return;
  frame_.note_replicas(peer.stage, answer.step, *found);
  if (found->checksums.size() < 2) return;
  std::vector<Replica> replicas;
  for (const PeerId& id : frame_.roster.serving(peer.stage)) {
    const PeerFacts& one = frame_.roster.peers().at(id);
    replicas.push_back({id, one.checksum, one.changed_at_rest});
  }
  const auto odd = frame_.repairs.replace_odd(frame_, answer.step, replicas);
  for (const Replica& one : odd)
    if (frame_.open.ledger) frame_.open.ledger->peer_lost(one.peer, /*may_return=*/false);
  frame_.order(orders::ServeLeases{});
}

// -- rounds

StageRound* SyncSchedule::find(Stage stage, Round round) {
  if (!frame_.is_open() || frame_.open.stages[stage.value()].round != round) return nullptr;
  return &frame_.open.stages[stage.value()];
}

Orders SyncSchedule::close_answered(const RoundMember& member, const Result<CloseAnswer>& answer,
                                    Time now) {
  start(now);
  StageRound* round = find(member.stage, member.round);
  if (round == nullptr || !round->runs()) {
    dropped_late(member, answer);
    return done();
  }
  if (PeerFacts* peer = frame_.roster.find(member.peer); peer != nullptr && round->overlapped) {
    peer->commit_pending = false;
    if (answer && answer->committed) take(member.peer, *answer->committed);
  }
  if (answer.code() == ErrorCode::kStaleTerm) {
    frame_.order(orders::StepDown{"a peer follows a newer term"});
    return done();
  }
  if (!answer) frame_.note(facts::MemberFailed{member.peer, answer.error()}, member.stage);
  if (answer && answer->failed) {
    frame_.note(facts::MemberFailed{member.peer, answer->failed->error}, member.stage);
    frame_.unreached(member, round->in_order(), *answer->failed);
  }
  round->take(member.peer, answer, now);
  judge(member.stage, *round);
  return done();
}

/// A member of a round that was given up meanwhile has dropped its sum: the ledger must not go on
/// to count it.
void SyncSchedule::dropped_late(const RoundMember& member, const Result<CloseAnswer>& answer) {
  const bool open =
      frame_.is_open() && member.step == frame_.open.step && frame_.open.ledger != nullptr;
  if (open && answer && answer->holds_more) frame_.dropped(member.peer);
}

void SyncSchedule::judge_rounds() {
  for (Stage stage; frame_.is_open() && stage.value() < frame_.open.stages.size(); ++stage)
    judge(stage, frame_.open.stages[stage.value()]);
}

void SyncSchedule::judge(Stage stage, StageRound& round) {
  using Kind = RoundVerdict::Kind;
  if (!round.runs()) return;
  const auto verdict = round.judge(frame_.now);
  if (verdict.kind == Kind::kWait) return;
  for (const PeerId& id : verdict.odd) frame_.note(facts::AveragesDiffer{id}, stage);
  if (verdict.kind == Kind::kAveraged) {
    round.at = At::kAveraged;
    frame_.averaged(stage, round);
    const Time since_open = frame_.now - frame_.open.opened_at;
    frame_.note(facts::StageAveraged{round.answers.size(), since_open, round.overlapped}, stage);
    return advance();
  }
  blame_silent(round, verdict.lost);
  if (round.overlapped) return collapse("a round failed while the next step was under way");
  abandon(stage);
  StepLedger& ledger = *frame_.open.ledger;
  for (const PeerId& id : verdict.dropped) ledger.peer_lost(id, /*may_return=*/true);
  for (const PeerId& id : verdict.lost) {
    ledger.peer_lost(id, /*may_return=*/false);
    PeerFacts* silent = frame_.roster.find(id);
    if (silent == nullptr || !silent->serving) continue;  // that was said
    silent->serving = false;  // if it lives it registers again, without its sum
    frame_.note(facts::PeerLost{id, "silent in a round"}, stage);
  }
  for (const PeerId& id : verdict.odd)
    frame_.repairs.struck(frame_, id, "its average was another one");
  for (const PeerId& id : verdict.not_finite) refuse_sum(stage, round, id);
  if (frame_.roster.serving(stage).empty())
    return frame_.gather(fmt::format("stage {} has lost all its peers", stage));
  frame_.order(orders::ServeLeases{});
  // Nobody is at fault: two members may not reach each other. The tick begins the next round.
  if (verdict.dropped.empty() && verdict.lost.empty() && verdict.not_finite.empty()) {
    round.not_before = frame_.now + kNextTry;
    return;
  }
  // Not from within a loop over the stages: a new round is begun by the next event or tick.
  frame_.order(orders::Later{});
}

/// Who waits for a member that is gone is not at fault, nor who waits for one that failed by itself: others
/// must say that nothing came from it.
void SyncSchedule::blame_silent(const StageRound& round, const std::vector<PeerId>& silent) {
  for (const auto& [id, answer] : round.answers)
    if (frame_.roster.find(id) == nullptr) return;
  for (const PeerId& id : silent) {
    if (round.answers.at(id) != StageRound::Kind::kPending || round.missed.count(id) == 0) continue;
    frame_.roster.peers().at(id).silent_at = frame_.now;
    frame_.repairs.struck(frame_, id, "it is silent in rounds", Strikes::Kind::kSilent);
  }
}

/// As with microbatches: what it holds is computed again, by others where there are any; if it is not
/// finite then either, it is left out. Who brought nothing has added up wrongly.
void SyncSchedule::refuse_sum(Stage stage, const StageRound& round, const PeerId& id) {
  const auto share = std::find_if(round.members.begin(), round.members.end(),
                                  [&id](const Share& one) { return one.peer == id; });
  frame_.note(facts::SumNotFinite{id, round.not_finite.at(id), share->slots.size()}, stage);
  if (share->slots.empty())
    return frame_.repairs.struck(frame_, id, "the means that it gave were not finite");
  frame_.repairs.refuse_sum(frame_, id, "its gradient sum was not finite");
  bool skipped = false;
  for (size_t i = 0; i < share->slots.size(); ++i) {
    const Slot slot = share->slots[i];
    const LedgerHop where{stage, id, true, share->attempts[i]};
    const auto verdict = frame_.open.ledger->non_finite(
        slot, share->attempts[i], where, frame_.roster.other_node_serves(stage, id.node));
    if (verdict != NonFiniteVerdict::kSkipped) continue;
    skipped = true;
    frame_.note(facts::SlotSkipped{frame_.open.step, slot, id}, stage);
  }
  if (skipped) slot_was_skipped();
}

void SyncSchedule::collapse(const std::string& reason) { frame_.gather(reason); }

/// Back to filling: the members are told.
void SyncSchedule::abandon(Stage stage) {
  StageRound& round = frame_.open.stages[stage.value()];
  frame_.order(orders::AbandonRound{frame_.open.step, round.round, round.ids()});
  frame_.note(facts::RoundAbandoned{round.round}, stage);
  round.at = At::kFilling;
}

/// Rounds under way or done count it; what they averaged is not applied by anybody.
void SyncSchedule::slot_was_skipped() {
  for (Stage stage; stage.value() < frame_.open.stages.size(); ++stage)
    if (frame_.open.stages[stage.value()].at != At::kFilling) abandon(stage);
}

// -- peers

bool SyncSchedule::counts(const PeerId& id) const {
  // Who is not registered cannot be told what counts: its share is computed again.
  const PeerFacts* peer = frame_.roster.find(id);
  return peer != nullptr && peer->serving;
}

Admission SyncSchedule::judge_admission(const PeerId& id) const {
  return admit_at_step(id, frame_.roster, frame_.whereabouts(applied()), frame_.now);
}

bool SyncSchedule::enter(const PeerId& id) {
  return frame_.open.enter(id, frame_.roster.peers().at(id));
}

bool SyncSchedule::update_under_way(const PeerId& id, Stage stage) const {
  const StageRound& round = frame_.open.stages[stage.value()];
  return round.overlapped && round.misses(id);
}

void SyncSchedule::member_lost(const PeerId& id, Stage stage) {
  if (update_under_way(id, stage)) return collapse("a peer was lost while an update was under way");
  StageRound& round = frame_.open.stages[stage.value()];
  // The others hold the average, or get what they still miss of it without this one, or fail.
  if (round.at == At::kAveraged || (round.overlapped && round.runs())) return;
  const auto slots = frame_.open.ledger->peer_lost(id, /*may_return=*/false);
  if (!slots.empty()) frame_.note(facts::Recompute{slots.size()}, stage);
  const auto member = round.answers.find(id);
  if (round.runs() && member != round.answers.end()) {
    member->second = StageRound::Kind::kLost;
    judge(stage, round);
  }
  if (frame_.is_open()) advance();
}

}  // namespace swarm::routing
