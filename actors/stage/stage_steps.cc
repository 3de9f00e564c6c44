// StageServer, steps: closing (averaging), committing (the update), snapshots.
#include <algorithm>
#include <caf/send.hpp>
#include <set>

#include "actors/net/local.h"
#include "actors/stage/stage_server_state.h"
#include "actors/state/checkpointer.h"
#include "common/names.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

/// Index of `self` among the members, or -1.
int find_member(const proto::CloseStep& close, const PeerId& self) {
  for (int i = 0; i < close.members_size(); ++i) {
    const auto& peer = close.members(i).peer();
    if (peer.node_id() == self.node.raw() && peer.actor() == self.actor) return i;
  }
  return -1;
}

}  // namespace

Status StageServerState::check_close(const proto::CloseStep& close, int self_index) const {
  bool busy = committing_ && close.members_size() > 0;
  if (phase_ != Phase::kServing || busy) return not_ready();
  bool repeat = close.round() == round_.id;
  if (close.step() != step_ && !(repeat && close.go_on() && close.step() + 1 == step_))
    return Error{close.step() < step_ ? ErrorCode::kStaleStep : ErrorCode::kNotReady,
                 "the peer is at step " + std::to_string(step_)};
  if (close.members_size() == 0) return {};
  if (self_index < 0) return Error{ErrorCode::kInvalidArgument, "this peer is no member"};
  if (close.round() < round_.id) return Error{ErrorCode::kStaleStep, "a later round has begun"};
  if (repeat || !close.has_commit()) return {};
  if (close.commit().step() != applied_ || !round_.result || round_.id != close.commit().round())
    return Error{ErrorCode::kNotFound,
                 "no average of round " + std::to_string(close.commit().round())};
  return {};
}

caf::result<Mail> StageServerState::on_close(const Mail& mail) {
  const auto& close = mail.as<proto::CloseStep>();
  if (!coordinator_->accept(close.term()))
    return to_caf(ErrorCode::kStaleTerm, "term " + std::to_string(coordinator_->term()) + " rules");
  int self_index = find_member(close, deps_.id);
  if (auto valid = check_close(close, self_index); !valid) return to_caf(valid.error());
  if (close.members_size() == 0) {
    if (round_.id == close.round()) abandon_round("the coordinator abandoned it");
    return make_mail(proto::CloseStepReply());
  }
  auto promise = self_->make_response_promise();
  if (close.round() == round_.id) {  // a repeat
    round_.promises.push_back(promise);
    if (round_.result) round_done(round_.id, *round_.result);
    return promise;
  }
  const auto& counted = close.members(self_index).counted_slots();
  std::set<uint32_t> expected(counted.begin(), counted.end()), mine;
  for (const auto& [slot, attempt] : held_) mine.insert(slot);
  if (expected != mine) {
    drop_gradient_sum("held " + std::to_string(mine.size()) + " slots, counted " +
                      std::to_string(expected.size()));
    proto::CloseStepReply reply;
    reply.set_holds_more(true);
    promise.deliver(make_mail(std::move(reply)));
    return promise;
  }
  auto average = close.has_commit() ? round_.result : std::nullopt;
  if (!average) abandon_round("round " + std::to_string(close.round()) + " replaces it");
  auto before = std::move(round_);
  round_ = Round{};
  round_.id = close.round();
  round_.held = held_;
  round_.promises.push_back(promise);
  close_now(close, static_cast<size_t>(self_index), std::move(before));
  return promise;
}

Result<AverageRound> StageServerState::make_round(const proto::CloseStep& close,
                                                  size_t self_index) const {
  AverageRound round;
  round.round = close.round();
  round.self = static_cast<uint32_t>(self_index);
  round.n = num_parameters_;
  round.total_samples = close.step_samples();
  for (const auto& member : close.members()) {
    auto peer = from_proto(member.peer());
    if (!peer) return peer.error();
    round.members.push_back({beside(peer->id, Role::kAverager), peer->endpoint, member.samples()});
  }
  return round;
}

/// Takes the sum; with delayed updates, applies the update that waited and goes on with the next
/// step. Then the averager has the word.
void StageServerState::close_now(const proto::CloseStep& close, size_t self_index, Round before) {
  auto round = make_round(close, self_index);
  if (!round) return round_done(close.round(), round.error());
  struct Closed {
    Buffer sum;
    uint64_t checksum = 0;
  };
  committing_ = close.has_commit() || close.go_on();
  double scale = tensor::clip_scale(deps_.optimizer, close.commit().gradient_norm());
  Buffer mean = close.has_commit() ? before.result->mean : Buffer();
  auto work = [mean, scale, go_on = close.go_on(),
               update = close.has_commit()](tensor::Stage& stage) -> Result<Closed> {
    Closed closed{stage.gradient_sum()};
    if (update) {
      if (auto applied = stage.apply(mean, scale); !applied) return applied.error();
      closed.checksum = stage.checksum();
    }
    if (go_on) stage.clear_gradients();
    return closed;
  };
  compute<Closed>(self_, deps_.compute, std::move(work),
                  [this, close, before = std::move(before), round = std::move(*round)](
                      Result<Closed> closed, double) mutable {
                    committing_ = false;
                    if (!closed) return round_done(round.round, closed.error());
                    if (close.has_commit()) {
                      note_committed(close.commit(), before, closed->checksum);
                      update_applied(close.commit(), closed->checksum);
                    }
                    if (close.go_on()) enter_step(step_ + 1);
                    if (round_.id == round.round && !round_.abandoned) {
                      if (close.has_commit()) round_.committed = commit_reply();
                      start_round(std::move(round), closed->sum);
                    }
                    pump();
                  });
}

void StageServerState::start_round(AverageRound round, const Buffer& sum) {
  round.gradient = sum;
  uint64_t id = round.round;
  self_->request(deps_.averager, caf::infinite, average_atom::value, std::move(round))
      .then([this, id](const AverageResult& result) { round_done(id, result); },
            [this, id](const caf::error& error) { round_done(id, from_caf(error)); });
}

/// The averager's error is about another member. To the coordinator these codes would say that this
/// peer is gone, or that its answer is late.
Error StageServerState::about_others(Error error) {
  if (error.code == ErrorCode::kLinkLost || error.code == ErrorCode::kNotFound ||
      error.code == ErrorCode::kShuttingDown || error.code == ErrorCode::kPeerTimeout)
    error.code = ErrorCode::kCancelled;
  return error;
}

void StageServerState::round_done(uint64_t round, Result<AverageResult> result) {
  if (round_.id != round || round_.abandoned) return;
  auto promises = std::move(round_.promises);
  round_.promises.clear();
  if (!result) {
    record(records::RoundFailed{round, result.error()});
    for (auto& promise : promises) promise.deliver(to_caf(about_others(result.error())));
    round_.result.reset();
    return;
  }
  if (!round_.result) record(records::Averaged{round, records::seconds_as_millis(result->seconds)});
  round_.result = *result;
  proto::CloseStepReply reply;
  reply.set_squared_norm(result->squared_norm);
  reply.set_digest(result->digest);
  if (round_.committed) *reply.mutable_committed() = *round_.committed;
  for (auto& promise : promises) promise.deliver(make_mail(reply));
}

void StageServerState::abandon_round(const std::string& reason) {
  if (round_.id == 0) return;
  if (!round_.result) caf::anon_send(deps_.averager, abandon_atom::value, round_.id);
  for (auto& promise : round_.promises)
    promise.deliver(to_caf(ErrorCode::kCancelled, "the round was abandoned: " + reason));
  round_.promises.clear();
  round_.abandoned = true;
  round_.result.reset();  // the id stays: an earlier round never starts again
}

void StageServerState::drop_gradient_sum(const std::string& reason) {
  record(records::SumDropped{held_.size(), reason});
  held_.clear();
  forget_answers();
  ++sum_epoch_;
  compute<bool>(
      self_, deps_.compute,
      [](tensor::Stage& stage) -> Result<bool> {
        stage.clear_gradients();
        return true;
      },
      [](Result<bool>, double) {});
}

caf::result<Mail> StageServerState::on_commit(const Mail& mail) {
  const auto& commit = mail.as<proto::CommitStep>();
  if (!coordinator_->accept(commit.term()))
    return to_caf(ErrorCode::kStaleTerm, "term " + std::to_string(coordinator_->term()) + " rules");
  // Also while registering: a new coordinator finishes the commit of the old one before all serve.
  bool may = phase_ == Phase::kServing || (phase_ == Phase::kRegistering && has_state_);
  if (!may) return to_caf(not_ready());
  if (commit.step() + 1 == applied_ && commit.round() == last_round_)
    return make_mail(commit_reply());
  if (commit.step() != applied_)
    return to_caf(ErrorCode::kStaleStep, "the peer has applied " + std::to_string(applied_));
  if (!round_.result || round_.id != commit.round() || committing_) {
    if (!committing_) set_phase(Phase::kRegistering, "a commit without the average");
    return to_caf(ErrorCode::kNotFound, "no average of round " + std::to_string(commit.round()));
  }
  committing_ = true;
  auto promise = self_->make_response_promise();
  double scale = tensor::clip_scale(deps_.optimizer, commit.gradient_norm());
  compute<uint64_t>(
      self_, deps_.compute,
      [mean = round_.result->mean, scale](tensor::Stage& stage) -> Result<uint64_t> {
        auto applied = stage.apply(mean, scale);
        if (!applied) return applied.error();
        return stage.checksum();
      },
      [this, commit, promise](Result<uint64_t> checksum, double) {
        committed(commit, promise, std::move(checksum));
      });
  return promise;
}

void StageServerState::committed(const proto::CommitStep& commit, caf::response_promise promise,
                                 Result<uint64_t> checksum) {
  committing_ = false;
  if (!checksum) {
    set_phase(Phase::kRegistering, "the update failed: " + to_string(checksum.error()));
    return promise.deliver(to_caf(checksum.error()));
  }
  note_committed(commit, round_, *checksum);
  update_applied(commit, *checksum);
  round_ = Round{};
  round_.id = last_round_;
  enter_step(applied_);
  promise.deliver(make_mail(commit_reply()));
  pump();
}

void StageServerState::update_applied(const proto::CommitStep& commit, uint64_t checksum) {
  ++applied_;
  checksum_ = checksum;
  last_round_ = commit.round();
  last_gradient_norm_ = commit.gradient_norm();
  if (commit.save_checkpoint()) save_snapshot([](Status) {});
}

/// The open step is over for this peer: its sum has been taken or applied.
void StageServerState::enter_step(uint64_t step) {
  step_ = step;
  computed_on_ = applied_;
  held_.clear();
  ++sum_epoch_;
  forget_answers();
  drop_residents(step_, {ErrorCode::kStaleStep, "step " + std::to_string(step_ - 1) + " is over"});
}

/// The swarm goes on from the updates applied: what was computed ahead of them is given up.
void StageServerState::collapse(const std::string& reason) {
  record(records::Collapsed{applied_, reason});
  abandon_round(reason);
  drop_gradient_sum(reason);
  step_ = computed_on_ = applied_;
}

void StageServerState::note_committed(const proto::CommitStep& commit, const Round& round,
                                      uint64_t checksum) {
  CommittedStep line;
  line.step = commit.step();
  line.stage = deps_.stage;
  line.round = commit.round();
  line.digest = round.result->digest;
  line.checksum = checksum;
  line.held.peer = deps_.id;
  line.held.node_name = deps_.node_name;
  for (const auto& [slot, attempt] : round.held) {
    line.held.slots.push_back(slot);
    line.held.attempts.push_back(attempt);
  }
  deps_.events->committed(line);
}

proto::CommitStepReply StageServerState::commit_reply() const {
  proto::CommitStepReply reply;
  reply.set_step(applied_);
  reply.set_checksum(checksum_);
  for (uint64_t bytes : bytes_sent_) reply.add_bytes_sent(bytes);
  return reply;
}

caf::result<Mail> StageServerState::on_save(const Mail&) {
  if (!has_state_) return to_caf(not_ready());
  auto promise = self_->make_response_promise();
  save_snapshot([promise](Status saved) mutable {
    if (saved)
      promise.deliver(make_mail(proto::Ack()));
    else
      promise.deliver(to_caf(saved.error()));
  });
  return promise;
}

/// In asynchronous mode the state is numbered by the period, within which it goes on.
std::function<Result<FrozenState>(tensor::Stage&)> StageServerState::freeze_job() const {
  return [period = asynchronous() ? std::optional(step_)
                                  : std::nullopt](tensor::Stage& stage) -> Result<FrozenState> {
    if (period)
      if (auto set = stage.set_step(*period); !set) return set.error();
    return FrozenState{stage.save_state(), stage.step()};
  };
}

void StageServerState::save_snapshot(std::function<void(Status)> done) {
  compute<FrozenState>(
      self_, deps_.compute, freeze_job(), [this, done](Result<FrozenState> frozen, double) {
        if (!frozen) return done(frozen.error());
        uint64_t step = frozen->step;
        auto start = now();
        self_
            ->request(deps_.checkpointer, caf::infinite, save_atom::value, stream(), step,
                      frozen->state, /*replace=*/asynchronous())
            .then(
                [this, done, start](uint64_t saved) {
                  unreadable_.erase(saved);
                  if (snapshots_.empty() || snapshots_.front() < saved)
                    snapshots_.insert(snapshots_.begin(), saved);
                  deps_.events->record(deps_.stage, static_cast<int64_t>(saved),
                                       records::Checkpointed{now() - start});
                  poll_snapshots();
                  register_peer();  // the coordinator waits for it before the next one
                  done({});
                },
                [this, done](const caf::error& error) {
                  Error why = from_caf(error);
                  record(records::CheckpointFailed{why});
                  done(why);
                });
      });
}

caf::result<FrozenState> StageServerState::on_freeze() {
  if (!has_state_) return to_caf(not_ready());
  auto promise = self_->make_response_promise();
  compute<FrozenState>(self_, deps_.compute, freeze_job(),
                       [promise](Result<FrozenState> frozen, double) mutable {
                         if (frozen)
                           promise.deliver(*frozen);
                         else
                           promise.deliver(to_caf(frozen.error()));
                       });
  return promise;
}

}  // namespace swarm::actors
