// Coordinator, steps: opening, averaging rounds, commits, metrics, the end.
#include <caf/send.hpp>
#include <cmath>
#include <limits>

#include "actors/coordinator/coordinator_state.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "routing/steps/attempts.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCommitBudget{60'000};
/// After the first failed answer of a round: members that live have answered by then.
constexpr double kRoundGrace_s = 0.5;
/// A stage whose disks fail must not end all checkpoints for ever.
constexpr double kSavePatience_s = 120;
/// So often the last snapshot is tried.
constexpr int kFinalSaves = 5;

}  // namespace

std::unique_ptr<routing::StepLedger> CoordinatorState::make_ledger(uint64_t step) const {
  const auto& training = deps_.training;
  bool last = step >= training.steps;  // nothing is left to train: the final validation
  bool validate =
      last || (training.validate_every > 0 && step > 0 && step % training.validate_every == 0);
  routing::StepLedgerOptions options;
  options.step = step;
  options.num_stages = deps_.num_stages;
  options.num_slots = last ? 0 : training.batch / training.microbatch;
  options.attempt_base = attempt_base();
  options.num_validation = validate ? training.validation_samples / training.microbatch : 0;
  return std::make_unique<routing::StepLedger>(options);
}

void CoordinatorState::enter_step(uint64_t step) {
  step_ = step;
  computed_on_ = pending_ ? pending_->step : step;
  stages_.assign(deps_.num_stages, StageProgress{});
  opened_at_ = now();
  diverged_ = false;
  had_history_ = true;
  phase_ = Phase::kOpen;
}

void CoordinatorState::open_step(uint64_t step) {
  enter_step(step);
  ledger_ = make_ledger(step);
  for (auto& [id, peer] : peers_) {
    if (asynchronous() || !peer.serving || peer.held.empty()) continue;
    if (peer.commit_pending || peer.step != step) {
      peer.held.clear();
      continue;
    }
    rebuild_ledger(id, peer);  // a successor goes on where the old one was
    peer.held.clear();
  }
  serve_waiting_leases();
  advance();
}

/// Rises with every term and every gathering: attempts of a history that was given up are told from
/// those of the present one by their number alone.
uint64_t CoordinatorState::attempt_base() const {
  return routing::attempt_base(term_, gatherings_);
}

void CoordinatorState::advance() {
  if (phase_ != Phase::kOpen) return;
  if (asynchronous() && step_ < deps_.training.steps) return advance_periods();
  bool nothing_to_train = step_ >= deps_.training.steps;
  if (nothing_to_train) {
    if (ledger_->full()) finish();
    return;
  }
  if (nothing_counts()) return diverge();
  if (advance_delayed()) return;
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    if (stages_[stage].at == StageProgress::At::kFilling && ledger_->stage_full(stage))
      start_round(stage);
  if (all_averaged(stages_) && ledger_->full()) commit();
}

void CoordinatorState::diverge() {
  if (!diverged_)
    record(records::Diverged{
        "every microbatch of step " + std::to_string(step_) +
        " is not finite; begin anew with a lower optimizer.learning_rate, or resume if a "
        "broken node was the reason"});
  diverged_ = true;
}

/// Every microbatch of the step was skipped: the model has diverged, no mean exists.
bool CoordinatorState::nothing_counts() const { return ledger_->counted_slots() == 0; }

bool CoordinatorState::all_averaged(const std::vector<StageProgress>& stages) {
  for (const auto& stage : stages)
    if (stage.at != StageProgress::At::kAveraged) return false;
  return true;
}

/// Nobody could tell such a peer what counts: its share is computed again. True if there was one.
bool CoordinatorState::drop_unreachable_holders(uint32_t stage) {
  for (const auto& [holder, slots] : ledger_->counted(stage)) {
    auto known = peers_.find(holder);
    if (known != peers_.end() && known->second.serving) continue;
    ledger_->peer_lost(holder, /*may_return=*/true);
    serve_waiting_leases();
    return true;
  }
  return false;
}

/// Such a peer would refuse to close the open step.
bool CoordinatorState::still_commits(const std::vector<PeerId>& members) const {
  return std::any_of(members.begin(), members.end(),
                     [this](const PeerId& id) { return peers_.at(id).commit_pending; });
}

void CoordinatorState::start_round(uint32_t stage) {
  if (still_commits(serving_peers(stage))) return;  // commit_answered() comes back
  if (drop_unreachable_holders(stage)) return;
  proto::CloseStep close;
  send_close(stage, stages_[stage], std::move(close));
}

/// Begins the round of a stage for the open step.
void CoordinatorState::send_close(uint32_t stage, StageProgress& progress, proto::CloseStep close) {
  auto members = serving_peers(stage);
  auto counted = ledger_->counted(stage);
  progress = StageProgress{};
  progress.at = StageProgress::At::kAveraging;
  progress.round = (term_ << 32) | ++rounds_;
  progress.overlapped = close.go_on() || close.has_commit();
  close.set_term(term_);
  close.set_step(step_);
  close.set_round(progress.round);
  close.set_step_samples(ledger_->counted_slots() * deps_.training.microbatch);
  for (const PeerId& id : members) {
    const Peer& peer = peers_.at(id);
    auto* member = close.add_members();
    *member->mutable_peer() = to_proto(id, peer.address.endpoint, peer.address.node_name);
    for (uint32_t slot : counted[id]) member->add_counted_slots(slot);
    member->set_samples(counted[id].size() * deps_.training.microbatch);
    HeldSlots held{id, peer.address.node_name, counted[id], {}};
    for (uint32_t slot : held.slots) held.attempts.push_back(ledger_->holder(slot, stage)->attempt);
    progress.members.push_back(std::move(held));
    progress.answers[id] = routing::MemberAnswer::Kind::kPending;
  }
  bool overlapped = progress.overlapped;
  Mail mail = make_mail(std::move(close), {}, kRoundBudget);
  for (const PeerId& id : members) {
    Peer& peer = peers_.at(id);
    if (!peer.proxy) {
      progress.answers[id] = routing::MemberAnswer::Kind::kFailed;
      continue;
    }
    peer.commit_pending |= overlapped;
    ask_member(stage, progress.round, id, mail,
               [this, stage, round = progress.round, step = step_, id](Result<Mail> reply) {
                 close_answered(stage, round, step, id, std::move(reply));
               });
  }
}

/// Rounds of large stages over slow links take longer than one request may: while nobody has
/// answered, a member whose time is up is asked again (it waits for, or repeats, the same answer).
/// One that stays silent when others are done has failed.
void CoordinatorState::ask_member(uint32_t stage, uint64_t round, const PeerId& id,
                                  const Mail& mail, std::function<void(Result<Mail>)> answered) {
  const StageProgress* progress = find_round(stage, round);
  const bool others_done = progress == nullptr || any_answer(*progress);
  auto again_or_done = [=, answered = std::move(answered)](Result<Mail> reply) {
    const StageProgress* current = find_round(stage, round);
    const bool runs = current != nullptr && current->at == StageProgress::At::kAveraging;
    const auto peer = peers_.find(id);
    const bool again = reply.code() == ErrorCode::kPeerTimeout && !others_done && runs &&
                       peer != peers_.end() && peer->second.proxy;
    if (!again) return answered(std::move(reply));
    record(records::MemberAskedAgain{name_of(id), round}, stage);
    ask_member(stage, round, id, mail, answered);
  };
  request_mail(self_, peers_.at(id).proxy, mail, std::move(again_or_done));
}

bool CoordinatorState::any_answer(const StageProgress& progress) {
  return std::any_of(progress.answers.begin(), progress.answers.end(), [](const auto& one) {
    return one.second != routing::MemberAnswer::Kind::kPending;
  });
}

CoordinatorState::ClosingStep CoordinatorState::take_open_step() {
  ClosingStep closing;
  closing.step = step_;
  closing.computed_on = computed_on_;
  closing.ledger = std::move(ledger_);
  closing.stages = std::move(stages_);
  closing.opened_at = opened_at_;
  closing.closed_at = now();
  return closing;
}

CoordinatorState::StageProgress* CoordinatorState::find_round(uint32_t stage, uint64_t round) {
  if (phase_ != Phase::kOpen) return nullptr;
  if (stages_[stage].round == round) return &stages_[stage];
  if (pending_ && pending_->stages[stage].round == round) return &pending_->stages[stage];
  return nullptr;
}

void CoordinatorState::judge_all() {
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage) {
    if (phase_ == Phase::kOpen) judge(stage, stages_[stage]);
    if (phase_ == Phase::kOpen && pending_) judge(stage, pending_->stages[stage]);
  }
}

/// A member of a round that was given up meanwhile has dropped its sum: the ledger must not go on
/// to count it.
void CoordinatorState::dropped_late(uint64_t step, const PeerId& id, const Result<Mail>& reply) {
  bool open = phase_ == Phase::kOpen && step == step_ && ledger_;
  if (!open || !reply || !reply->as<proto::CloseStepReply>().holds_more()) return;
  ledger_->peer_lost(id, /*may_return=*/true);
  serve_waiting_leases();
}

void CoordinatorState::close_answered(uint32_t stage, uint64_t round, uint64_t step,
                                      const PeerId& id, Result<Mail> reply) {
  StageProgress* found = find_round(stage, round);
  if (found == nullptr || found->at != StageProgress::At::kAveraging)
    return dropped_late(step, id, reply);
  StageProgress& progress = *found;
  if (auto peer = peers_.find(id); peer != peers_.end() && progress.overlapped) {
    peer->second.commit_pending = false;
    if (reply && reply->as<proto::CloseStepReply>().has_committed())
      take_commit_reply(peer->second, reply->as<proto::CloseStepReply>().committed());
  }
  using Kind = routing::MemberAnswer::Kind;
  Kind& answer = progress.answers[id];
  if (!reply) {
    if (reply.code() == ErrorCode::kStaleTerm) return step_down("a peer follows a newer term");
    // A lost link is reported to on_node_down too; whichever comes first.
    bool lost = reply.code() == ErrorCode::kLinkLost || reply.code() == ErrorCode::kShuttingDown ||
                reply.code() == ErrorCode::kNotFound;
    record(records::MemberFailed{name_of(id), reply.error()}, stage);
    answer = lost ? Kind::kLost : Kind::kFailed;
  } else {
    const auto& head = reply->as<proto::CloseStepReply>();
    answer = head.holds_more() ? Kind::kHoldsMore : Kind::kAveraged;
    if (!head.holds_more()) {
      progress.squared_norm = head.squared_norm();
      if (!progress.digest) progress.digest = head.digest();
      if (*progress.digest != head.digest()) {  // invariant I2 would break at the commit
        record(records::AveragesDiffer{name_of(id)}, stage);
        answer = Kind::kFailed;
      }
    }
  }
  if (answer != Kind::kAveraged && !progress.first_failure) progress.first_failure = now();
  judge(stage, progress);
}

void CoordinatorState::judge(uint32_t stage, StageProgress& progress) {
  if (asynchronous()) return;  // period_answered() does
  if (progress.at != StageProgress::At::kAveraging) return;
  std::vector<routing::MemberAnswer> members;
  for (const auto& [id, answer] : progress.answers) members.push_back({id, answer});
  bool grace_over = progress.first_failure && since(*progress.first_failure) > kRoundGrace_s;
  auto verdict = routing::judge_round(members, grace_over);
  using Kind = routing::RoundVerdict::Kind;
  if (verdict.kind == Kind::kWait) return;
  if (verdict.kind == Kind::kAveraged) {
    progress.at = StageProgress::At::kAveraged;
    record(records::StageAveraged{members.size(), now() - opened_at_, progress.overlapped}, stage);
    return advance();
  }
  if (progress.overlapped)
    return start_gathering("a round failed while the next step was under way");
  abandon_round(stage);
  progress.at = StageProgress::At::kFilling;
  for (const PeerId& id : verdict.dropped) ledger_->peer_lost(id, /*may_return=*/true);
  for (const PeerId& id : verdict.lost) {
    ledger_->peer_lost(id, /*may_return=*/false);
    auto silent = peers_.find(id);
    if (silent == peers_.end()) continue;
    silent->second.serving = false;  // if it lives it registers again, without its sum
    record(records::PeerLost{name_of(id), "silent in a round"}, stage);
  }
  if (serving_peers(stage).empty())
    return start_gathering("stage " + std::to_string(stage) + " has lost all its peers");
  serve_waiting_leases();
  // Members that cannot reach one another would try without a pause: the tick begins the next one.
  if (verdict.dropped.empty() && verdict.lost.empty()) return;
  // Not from within a loop over the stages: a new round is begun by the next event or tick.
  self_->send(self_, run_later_atom::value, LocalTask([this] { advance(); }));
}

/// Back to filling: something that the round counts must not count.
void CoordinatorState::unwind_round(uint32_t stage) {
  if (stages_[stage].at == StageProgress::At::kFilling) return;
  abandon_round(stage);
  stages_[stage].at = StageProgress::At::kFilling;
}

void CoordinatorState::abandon_round(uint32_t stage) {
  proto::CloseStep message;
  message.set_term(term_);
  message.set_step(step_);
  message.set_round(stages_[stage].round);
  Mail mail = make_mail(std::move(message));
  for (const auto& [id, answer] : stages_[stage].answers) {
    auto peer = peers_.find(id);
    if (peer != peers_.end() && peer->second.proxy) caf::anon_send(peer->second.proxy, mail);
  }
  record(records::RoundAbandoned{stages_[stage].round}, stage);
}

/// The decision is made: whatever is committed has its line in the audit before.
proto::CommitStep CoordinatorState::decide_commit(const ClosingStep& closing) {
  double squared_norm = 0;
  for (const auto& stage : closing.stages) squared_norm += stage.squared_norm;
  double norm = std::sqrt(squared_norm);
  uint64_t next = closing.step + 1;
  write_metrics(closing, norm);
  write_audit(closing);
  proto::CommitStep commit;
  commit.set_term(term_);
  commit.set_step(closing.step);
  commit.set_gradient_norm(norm);
  commit.set_save_checkpoint(decide_save(next));
  return commit;
}

/// Peers keep the newest few snapshots. One is asked for only when the one before is durable in
/// every stage, or a fast disk would drop what a slow one has not yet matched.
bool CoordinatorState::decide_save(uint64_t next) {
  uint32_t every = deps_.checkpoint.every_steps;
  bool due = save_overdue_ || next == deps_.training.steps || (every > 0 && next % every == 0);
  save_overdue_ = due && !may_save();
  bool save = due && !save_overdue_;
  if (save) {
    last_save_ = next;
    last_save_at_ = now();
  }
  return save;
}

bool CoordinatorState::may_save() const {
  bool patient = since(last_save_at_) < kSavePatience_s;
  return last_save_ == 0 || !patient || everywhere(last_save_);
}

bool CoordinatorState::everywhere(uint64_t snapshot) const {
  std::set<uint32_t> there;
  for (const auto& [id, peer] : peers_) {
    if (!peer.serving) continue;  // who has just started lists what it has not read yet
    for (uint64_t step : peer.snapshots)
      if (step >= snapshot) there.insert(peer.stage);
  }
  return there.size() == deps_.num_stages;
}

void CoordinatorState::commit() {
  uint64_t next = step_ + 1;
  ClosingStep closing = take_open_step();
  proto::CommitStep commit = decide_commit(closing);
  for (auto& [id, peer] : peers_) {
    if (!peer.serving) continue;
    const StageProgress& progress = closing.stages[peer.stage];
    if (progress.answers.count(id) == 0) {  // joined after the round began: it has no average
      peer.serving = false;
      ask_to_register(peer, "it joined during the averaging of step " + std::to_string(step_));
      continue;
    }
    commit.set_round(progress.round);
    send_commit(id, commit);
  }
  open_step(next);
}

void CoordinatorState::send_commit(const PeerId& id, const proto::CommitStep& commit) {
  Peer& peer = peers_.at(id);
  peer.commit_pending = true;
  peer.held.clear();
  request_mail(self_, peer.proxy, make_mail(commit, {}, kCommitBudget),
               [this, id, step = commit.step()](Result<Mail> reply) {
                 commit_answered(id, step, std::move(reply));
               });
}

void CoordinatorState::commit_answered(const PeerId& id, uint64_t step, Result<Mail> reply) {
  auto it = peers_.find(id);
  if (it == peers_.end() || phase_ == Phase::kStandby) return;
  Peer& peer = it->second;
  peer.commit_pending = false;
  if (!reply) {
    if (reply.code() == ErrorCode::kStaleTerm) return step_down("a peer follows a newer term");
    record(records::CommitFailed{peer.address.node_name, reply.error()}, peer.stage);
    peer.serving = false;  // it fetches the state when it registers again
    if (phase_ == Phase::kOpen && serving_peers(peer.stage).empty())
      start_gathering("stage " + std::to_string(peer.stage) + " could not commit");
    return;
  }
  take_commit_reply(peer, reply->as<proto::CommitStepReply>());
  if (phase_ == Phase::kOpen) advance();
}

void CoordinatorState::take_commit_reply(Peer& peer, const proto::CommitStepReply& reply) {
  peer.step = reply.step();
  peer.open_step = step_;
  peer.has_average = false;
  peer.checksum = reply.checksum();
  peer.checksum_step = reply.step();
  peer.bytes_sent.assign(reply.bytes_sent().begin(), reply.bytes_sent().end());
  check_replicas(peer.stage, reply.step());
}

void CoordinatorState::finish() {
  phase_ = Phase::kFinished;
  ClosingStep closing = take_open_step();
  write_metrics(closing, 0);
  auto validation = closing.ledger->validation_loss();
  ledger_ = std::move(closing.ledger);  // peers may still come and ask
  stages_ = std::move(closing.stages);
  save_final({deps_.training.steps, validation}, 1);
}

/// The run is over when every stage has its last snapshot on a disk; a stage that dies before is
/// trained again from the newest common one.
void CoordinatorState::save_final(const records::RunFinished& finished, int tries) {
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    if (serving_peers(stage).empty())
      return start_gathering("stage " + std::to_string(stage) +
                             " was lost before its last snapshot was durable");
  auto later = [this, finished](milliseconds pause, int next_try) {
    self_->delayed_send(self_, pause, run_later_atom::value, LocalTask([this, finished, next_try] {
                          if (phase_ == Phase::kFinished) save_final(finished, next_try);
                        }));
  };
  if (!may_save()) return later(milliseconds(100), tries);
  last_save_ = step_;
  last_save_at_ = now();
  caf::actor me = caf::actor_cast<caf::actor>(self_);
  auto over = [this, finished] {
    over_ = true;
    expire_waiting_leases();
    record(finished);
  };
  self_->request(me, milliseconds(60'000), make_mail(proto::SaveCheckpoint()))
      .then(
          [this, over](const Mail&) {
            if (phase_ == Phase::kFinished) over();
          },
          [this, over, later, tries](const caf::error& error) {
            if (phase_ != Phase::kFinished) return;
            record(records::CheckpointFailed{from_caf(error)});
            last_save_ = 0;                           // the next try is for the same step
            if (tries >= kFinalSaves) return over();  // disks that fail for good
            later(milliseconds(1'000), tries + 1);
          });
}

/// After the end: a peer that came back too late to be asked with the others has no last snapshot.
void CoordinatorState::save_late(const PeerId& id, Peer& peer) {
  bool stored = std::count(peer.snapshots.begin(), peer.snapshots.end(), step_) != 0;
  if (!peer.serving || !peer.proxy || stored || peer.late_save) return;
  peer.late_save = true;
  request_mail(self_, peer.proxy, make_mail(proto::SaveCheckpoint(), {}, milliseconds(60'000)),
               [this, id](Result<Mail> reply) {
                 auto found = peers_.find(id);
                 if (!reply && found != peers_.end()) found->second.late_save = false;
               });
}

}  // namespace swarm::actors
