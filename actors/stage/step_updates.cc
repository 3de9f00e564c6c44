#include "actors/stage/step_updates.h"

#include <fmt/format.h>

#include <caf/send.hpp>

#include "actors/net/requests.h"
#include "actors/node/keep_text.h"
#include "actors/stage/residuals.h"
#include "actors/state/state_messages.h"
#include "common/names.h"

namespace swarm::actors {
namespace {

Mail holds_more_reply() {
  proto::CloseStepReply reply;
  reply.set_holds_more(true);
  return make_mail(std::move(reply));
}

}  // namespace

StepUpdates::StepUpdates(StageContext& context)
    : context_(context), dropped_(routing::parse_slot_fault(context.deps.faults.drop_gradient)) {}

routing::MicrobatchWindow StepUpdates::window() const {
  return routing::step_window(context_.at.open_step,
                              round_.result || context_.deps.training.delayed_updates);
}

bool StepUpdates::adds(const MicrobatchKey& key) const {
  return !dropped_ || !dropped_->hits(key, context_.deps.stage);
}

caf::result<Mail> StepUpdates::on_mail(const Mail& mail) {
  if (mail.kind == proto::KIND_CLOSE_STEP) return on_close(mail);
  if (mail.kind == proto::KIND_COMMIT_STEP) return on_commit(mail);
  return to_caf(ErrorCode::kInvalidArgument, "the mode has steps, no periods");
}

// -- closing

Result<StepUpdates::Close> StepUpdates::decode(const proto::CloseStep& message) {
  Close close;
  close.step = Step(message.step());
  close.abandons = message.samples_size() == 0;
  close.go_on = message.go_on();
  if (message.has_commit()) close.commit = read_commit(message.commit(), Term(message.term()));
  close.average.round = Round(message.round());
  close.average.n = context_.num_parameters;
  close.average.total_samples = message.step_samples();
  if (close.abandons) return close;
  auto members = members_.of(message);
  if (!members) return members.error();
  // Who was left out may come back soon: it needs the means since.
  if (members_.left_out()) caf::anon_send(context_.deps.state_transfer, expect_atom::value);
  const ActorId self = beside(context_.deps.id, Role::kAverager);
  for (uint32_t i = 0; i < members->size(); ++i) {
    if (!((*members)[i].averager == self)) continue;
    close.is_member = true;
    close.average.self = i;
  }
  if (auto valid = add_relays(message.relays(), close.average.self, *members); !valid)
    return valid.error();
  for (uint32_t slot : message.counted_slots()) close.counted.slots.insert(Slot(slot));
  close.counted.digest = message.counted_digest();
  close.average.members = std::move(*members);
  return close;
}

routing::RoundPlace StepUpdates::place() const {
  return {context_.at.open_step, context_.at.applied, round_.id, round_.result.has_value(),
          committing_};
}

Status StepUpdates::check(const Close& close) const {
  if (!context_.phase.serves() || (committing_ && !close.abandons)) return context_.phase.refusal();
  routing::CloseCall call{close.step,      close.average.round, close.abandons,
                          close.is_member, close.go_on,         std::nullopt};
  if (close.commit) call.commit = routing::NamedAverage{close.commit->step, close.commit->round};
  return routing::may_close(place(), call);
}

caf::result<Mail> StepUpdates::on_close(const Mail& mail) {
  const auto& message = mail.as<proto::CloseStep>();
  if (auto ruled = context_.accept(Term(message.term()), mail.from); !ruled)
    return to_caf(ruled.error());
  auto close = decode(message);
  if (!close) return to_caf(close.error());
  if (auto valid = check(*close); !valid) return to_caf(valid.error());
  context_.keep(message.text());
  const Round id = close->average.round;
  if (close->abandons) {
    if (round_.id == id) abandon_round("the coordinator abandoned it");
    return make_mail(proto::CloseStepReply());
  }
  const bool repeat = round_.id == id;
  if (!repeat && holds_more(*close)) return holds_more_reply();
  auto promise = context_.self->make_response_promise();
  if (!repeat) {
    begin(*close, promise);
    return promise;
  }
  round_.promises.push_back(promise);
  if (round_.result) round_done(id, *round_.result);
  return promise;
}

/// Then it drops all. So it does where a slot that a new coordinator counted, on this peer's word, is still
/// being computed: that may fail.
bool StepUpdates::holds_more(const Close& close) {
  routing::BroughtBy mine;
  for (const auto& held : context_.contributions.of_step(context_.at.open_step))
    mine[held.slot] = held.attempt;
  const bool settled = context_.contributions.settled(context_.at.open_step);
  const std::string why = routing::too_much(mine, settled, close.counted);
  if (!why.empty()) drop_sum(why);
  return !why.empty();
}

/// Takes the sum, applies the update that waited if updates are delayed, and goes on; the sum is averaged.
void StepUpdates::begin(const Close& close, caf::response_promise promise) {
  if (!close.commit || !round_.result)
    abandon_round(fmt::format("round {} replaces it", close.average.round));
  RoundState before = std::exchange(round_, RoundState{});
  round_.id = close.average.round;
  round_.held = context_.contributions.of_step(context_.at.open_step);
  round_.promises.push_back(std::move(promise));
  round_.of_two = close.average.members.size() == 2;
  committing_ = close.commit || close.go_on;
  const UpdateJob update = close.commit ? update_of(before, *close.commit) : UpdateJob();
  auto work = [update, go_on = close.go_on, watch = context_.sum_watch,
               epoch = context_.contributions.epoch()](tensor::Stage& stage) -> Result<Closed> {
    if (!watch->intact(stage, epoch)) return Closed{{}, {}, epoch};
    Closed closed{stage.gradient_sum(), {}, {}};
    if (update || go_on) watch->cleared();
    if (update) {
      auto applied = update(stage);
      if (!applied) return applied.error();
      closed.applied = *applied;
    }
    if (go_on) stage.clear_gradients();
    return closed;
  };
  context_.device.run<Closed>(
      std::move(work), [this, close, before = std::move(before)](Result<Closed> result, double) {
        closed(close, before, std::move(result));
      });
}

void StepUpdates::closed(const Close& close, const RoundState& before, Result<Closed> result) {
  committing_ = false;
  const Round id = close.average.round;
  if (!result) {
    round_done(id, result.error());
    return context_.host->compute_next();
  }
  if (result->changed_sum) {  // by itself: all is as before the close, but the sum is gone
    sum_changed(*result->changed_sum);
    if (round_.id == id) {
      Promises waiting = std::exchange(round_, before).promises;
      deliver(waiting, holds_more_reply());
    }
    return context_.host->compute_next();
  }
  if (close.commit) applied(*close.commit, before, result->applied);
  if (close.go_on) enter_step(context_.at.open_step + 1);
  if (round_.id == id && !round_.abandoned) {
    if (close.commit) round_.committed = commit_reply();
    start_round(close.average, result->sum);
  }
  context_.host->compute_next();
}

void StepUpdates::sum_changed(uint64_t epoch) {
  if (epoch != context_.contributions.epoch()) return;
  context_.record(records::GradientSumChanged{context_.contributions.size()});
  drop_sum("it has changed by itself");
}

void StepUpdates::start_round(AverageRound round, const Buffer& sum) {
  round.gradient = sum;
  round.residuals = residuals_of(context_);
  if (context_.deps.rounds) round_.brought = brought_into(round, round_.held);
  request_average(context_, std::move(round), [this, id = round_.id](Result<AverageResult> result) {
    round_done(id, std::move(result));
  });
}

void StepUpdates::round_done(Round round, Result<AverageResult> result) {
  if (round_.id != round || round_.abandoned) return;
  if (!result) {
    context_.record(records::RoundFailed{round.value(), result.error()});
    round_.result.reset();
    return deliver(round_.promises, about_others(result.error()));
  }
  if (result->failed()) {
    context_.record(records::RoundFailed{round.value(), result->why});
    round_.result.reset();
    proto::CloseStepReply reply;
    *reply.mutable_failure() = failure_of(*result);
    if (round_.committed) *reply.mutable_committed() = *round_.committed;
    return deliver(round_.promises, make_mail(std::move(reply)));
  }
  if (!round_.result)
    context_.record(records::Averaged{round.value(), records::seconds_as_millis(result->seconds)});
  round_.result = *result;
  proto::CloseStepReply reply;
  reply.set_squared_norm(result->squared_norm);
  reply.set_digest(result->digest);
  if (round_.brought) *reply.mutable_brought() = *round_.brought;
  if (round_.committed) *reply.mutable_committed() = *round_.committed;
  deliver(round_.promises, make_mail(std::move(reply)));
}

void StepUpdates::abandon_round(const std::string& reason) {
  if (round_.id == Round()) return;
  if (!round_.result) caf::anon_send(context_.deps.averager, abandon_atom::value, round_.id);
  deliver(round_.promises, Error{ErrorCode::kCancelled, "the round was abandoned: " + reason});
  round_.abandoned = true;
  round_.result.reset();  // the id stays: an earlier round never starts again
}

// -- committing

caf::result<Mail> StepUpdates::on_commit(const Mail& mail) {
  const auto& message = mail.as<proto::CommitStep>();
  if (auto ruled = context_.accept(Term(message.term()), mail.from); !ruled)
    return to_caf(ruled.error());
  const Commit commit = read_commit(message, Term(message.term()));
  const bool repeat = commit.step + 1 == context_.at.applied && commit.round == last_round_;
  const bool keeps = context_.phase.registers() && context_.at.has_state;
  if (repeat && keeps) return make_mail(commit_reply());
  // Also while registering: a new coordinator finishes the commit of the old one before all serve.
  // And while learning, until the first range has come: it still has what it had.
  if (!keeps && !context_.phase.serves()) return to_caf(context_.phase.refusal());
  if (auto valid = routing::may_commit(place(), {commit.step, commit.round}); !valid) {
    if (valid.code() == ErrorCode::kNotFound && !committing_)
      context_.host->stop_serving("a commit without the average");
    return to_caf(valid.error());
  }
  context_.host->end_learning("it commits the update that it missed");
  committing_ = true;
  auto promise = context_.self->make_response_promise();
  context_.device.run<AppliedUpdate>(update_of(round_, commit),
                                     [this, commit, promise](Result<AppliedUpdate> update, double) {
                                       committed(commit, promise, std::move(update));
                                     });
  return promise;
}

UpdateJob StepUpdates::update_of(const RoundState& round, const Commit& commit) const {
  const double scale = tensor::clip_scale(context_.deps.optimizer, commit.gradient_norm);
  return update_job(round.result->mean, scale, commit.after, round.of_two, context_.checksum);
}

void StepUpdates::committed(const Commit& commit, caf::response_promise promise,
                            Result<AppliedUpdate> update) {
  committing_ = false;
  if (!update) {
    // What is not finite is so at the next try as well: it must not be asked for again.
    if (update.code() == ErrorCode::kNonFinite) round_.result.reset();
    context_.host->stop_serving("the update failed: " + to_string(update.error()));
    return promise.deliver(to_caf(update.error()));
  }
  applied(commit, round_, *update);
  round_ = RoundState{};
  round_.id = last_round_;
  enter_step(context_.at.applied);
  promise.deliver(make_mail(commit_reply()));
  context_.host->compute_next();
}

/// `commit`, of the average that `round` gave, is in the parameters.
void StepUpdates::applied(const Commit& commit, const RoundState& round,
                          const AppliedUpdate& update) {
  const uint64_t checksum = update.checksum;
  CommittedStep line = committed_line(commit, round.result->digest, checksum, round.held);
  line.stage = context_.deps.stage.value();
  line.held.peer = context_.deps.id;
  line.held.node_name = context_.deps.node_name;
  context_.deps.events->committed(line);
  routing::AppliedMean mean = mean_of(commit, update);
  mean.before = {commit.step, context_.checksum, context_.history};
  mean.digest = round.result->digest;
  mean.mean = round.result->mean;
  caf::anon_send(context_.deps.state_transfer, applied_atom::value, std::move(mean));
  ++context_.at.applied;
  settle_text(*context_.deps.text);
  context_.checksum = checksum;
  context_.history = commit.after;
  last_round_ = commit.round;
  last_gradient_norm_ = commit.gradient_norm;
  commit_rounds_ = commit.rounds;
  changed_at_rest_ = update.changed_at_rest;
  state_came_ = false;
  take_residuals(context_, *round.result);
  if (commit.keep) context_.host->keep_snapshot(commit.term, *commit.keep);
  if (commit.save) context_.host->save_snapshot();
}

/// The open step is over for this peer: its sum has been taken or applied.
void StepUpdates::enter_step(Step step) {
  context_.at.open_step = step;
  context_.at.computed_on = context_.at.applied;
  context_.contributions.clear();
  context_.host->end_steps_before(
      step, {ErrorCode::kStaleStep, fmt::format("step {} is over", step - 1)});
}

proto::CommitStepReply StepUpdates::commit_reply() const {
  proto::CommitStepReply reply;
  reply.set_step(context_.at.applied.value());
  reply.set_checksum(context_.checksum);
  reply.set_changed_at_rest(changed_at_rest_);
  reply.set_history(context_.history.value());
  for (uint64_t bytes : context_.bytes_sent) reply.add_bytes_sent(bytes);
  return reply;
}

// -- membership

void StepUpdates::describe_to(proto::RegisterPeer& message) const {
  message.set_has_average(round_.result.has_value());
  message.set_round(round_.id.value());
  message.set_last_gradient_norm(last_gradient_norm_);
  for (const Round round : commit_rounds_) message.add_commit_rounds(round.value());
  message.set_state_came(state_came_);
  message.set_changed_at_rest(changed_at_rest_);
  const auto& at = context_.at;
  if (at.open_step != at.applied || at.computed_ahead()) return;  // of no use to a new coordinator
  for (const auto& slot : context_.contributions.of_step(at.open_step)) {
    auto* held = message.add_held();
    held->set_slot(slot.slot.value());
    held->set_attempt(slot.attempt.value());
    held->set_loss_sum(slot.loss_sum);
    held->set_samples(slot.samples);
  }
}

bool StepUpdates::go_on(const proto::RegisterPeerReply& verdict) {
  switch (routing::serve_in_steps(context_.at, context_.phase.serves(), Step(verdict.step()),
                                  Step(verdict.open_step()))) {
    case routing::Serve::kIgnore:
      return false;
    case routing::Serve::kCollapse:
      collapse(verdict.reason());
      break;
    case routing::Serve::kServe:
      break;
  }
  if (!verdict.keep_held() && context_.contributions.size() > 0)
    drop_sum("the coordinator says so");
  return true;
}

/// The swarm goes on from the updates applied: what was computed ahead of them is given up.
void StepUpdates::collapse(const std::string& reason) {
  context_.record(records::Collapsed{context_.at.applied.value(), reason});
  abandon_round(reason);
  drop_sum(reason);
  context_.at.open_step = context_.at.computed_on = context_.at.applied;
}

void StepUpdates::drop_sum(const std::string& reason) {
  context_.record(records::SumDropped{context_.contributions.size(), reason});
  context_.contributions.clear();
  context_.host->forget_answers();
  context_.device.run<bool>(
      [](tensor::Stage& stage) -> Result<bool> {
        stage.clear_gradients();
        return true;
      },
      [](const Result<bool>&, double) {});
}

/// An average in hand is kept: a new coordinator may have to finish the commit of the old one.
void StepUpdates::stop(const std::string& reason) {
  if (!round_.result) abandon_round(reason);
}

void StepUpdates::loaded(bool) {
  context_.contributions.clear();
  round_.result.reset();
  state_came_ = true;
  changed_at_rest_ = false;
}

std::string StepUpdates::describe() const {
  return fmt::format("slots held {}, round {}{}", context_.contributions.size(), round_.id,
                     round_.result ? " averaged" : "");
}

}  // namespace swarm::actors
