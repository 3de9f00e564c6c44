#include "actors/stage/period_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/send.hpp>

#include "actors/net/requests.h"
#include "actors/stage/residuals.h"
#include "common/names.h"
#include "routing/steps/round_rules.h"

namespace swarm::actors {

PeriodUpdates::PeriodUpdates(StageContext& context)
    : context_(context),
      updater_(std::make_shared<LocalUpdater>(context.deps.training.local_update_every)) {}

// -- microbatches

routing::MicrobatchWindow PeriodUpdates::window() const {
  return routing::period_window(context_.at.open_step, kOpenPeriods);
}

/// Replicas stay equal after the last averaging.
bool PeriodUpdates::adds(const MicrobatchKey&) const {
  return context_.at.open_step.value() < context_.deps.training.steps;
}

void PeriodUpdates::updated(const LocalUpdates& updates) {
  if (updates.dropped > 0) context_.record(records::GradientSumChanged{updates.dropped});
  if (updates.refused) context_.record(records::UpdateRefused{updates.refused->detail});
  if (updates.staleness.empty()) return;
  ++updates_made_;
  context_.checksum = 0;  // of parameters that are no more
  for (uint64_t staleness : updates.staleness) {
    staleness_.add(staleness);
    period_staleness_.add(staleness);
  }
}

// -- periods

/// The period gives snapshots their number and says which microbatches are too old.
void PeriodUpdates::enter_period(Step period) {
  auto& at = context_.at;
  at.open_step = at.applied = at.computed_on = std::max(at.open_step, period);
}

proto::EndPeriodReply PeriodUpdates::reply() {
  proto::EndPeriodReply reply;
  period_staleness_.write(reply);
  period_staleness_ = {};
  for (uint64_t bytes : context_.bytes_sent) reply.add_bytes_sent(bytes);
  return reply;
}

caf::result<Mail> PeriodUpdates::on_mail(const Mail& mail) {
  if (mail.kind == proto::KIND_END_PERIOD) return on_end_period(mail);
  return to_caf(ErrorCode::kInvalidArgument, "the mode has periods, no steps");
}

Result<AverageRound> PeriodUpdates::decode(const proto::EndPeriod& message) const {
  AverageRound round;
  round.round = Round(message.round());
  round.total_samples = static_cast<uint64_t>(message.members_size());
  bool is_member = false;
  for (const auto& member : message.members()) {
    auto peer = from_proto(member);
    if (!peer) return peer.error();
    if (peer->id == context_.deps.id) {
      is_member = true;
      round.self = static_cast<uint32_t>(round.members.size());
    }
    round.members.push_back({beside(peer->id, Role::kAverager), peer->endpoint, /*samples=*/1});
  }
  if (!is_member) return Error{ErrorCode::kInvalidArgument, "this peer is no member"};
  if (auto valid = add_part_weights(message.part_weights(), round.members); !valid)
    return valid.error();
  if (auto valid = add_relays(message.relays(), round.self, round.members); !valid)
    return valid.error();
  round.most_samples = message.most_samples();
  return round;
}

caf::result<Mail> PeriodUpdates::on_end_period(const Mail& mail) {
  const auto& message = mail.as<proto::EndPeriod>();
  if (auto ruled = context_.accept(Term(message.term()), mail.from); !ruled)
    return to_caf(ruled.error());
  if (!context_.phase.serves()) return to_caf(context_.phase.refusal());
  context_.keep(message.text());
  enter_period(Step(message.period()) + 1);
  if (message.has_keep())
    context_.host->keep_snapshot(Term(message.term()), keep_step_of(message.keep()));
  if (message.members_size() == 0) {
    if (message.save_checkpoint()) context_.host->save_snapshot();
    return make_mail(reply());
  }
  const Round asked(message.round());
  if (auto valid = routing::may_average(round_.id, averaging_, asked); !valid)
    return to_caf(valid.error());
  auto average = decode(message);
  if (!average) return to_caf(average.error());
  auto promise = context_.self->make_response_promise();
  if (averaging_) {  // a repeat
    round_.promises.push_back(promise);
    return promise;
  }
  RoundState round;
  round.id = Round(message.round());
  round.promises.push_back(promise);
  round.blocking = message.blocking();
  round.save_afterwards = message.save_checkpoint();
  begin(std::move(round), std::move(*average));
  return promise;
}

// -- rounds of weights

/// What lies in the sum of one that is about to leave its stage would go with it.
void PeriodUpdates::begin(RoundState round, AverageRound average) {
  round_ = std::move(round);
  round_.began_s = context_.now_s();
  averaging_ = true;
  stalled_ = round_.blocking;
  context_.device.run<Sent>(
      [part = context_.deps.training.average, updater = updater_, watch = context_.sum_watch,
       leaves = context_.move.under_way(),
       period = context_.at.open_step](tensor::Stage& stage) -> Result<Sent> {
        LocalUpdates rest;
        if (leaves) {
          if (!watch->intact(stage, updater->sum())) updater->drop(stage);
          rest = updater->rest(stage, period);
        }
        auto vector = stage.to_average(part);
        if (!vector) return vector.error();
        return Sent{std::move(*vector), updater->trained(), std::move(rest)};
      },
      [this, average = std::move(average)](Result<Sent> sent, double seconds) mutable {
        round_.sent_s = seconds;
        if (!sent) return end(sent.error());
        round_.trained = sent->trained;
        updated(sent->rest);
        average.gradient = sent->vector;
        average.n = sent->vector.size() / sizeof(float);
        average.residuals = residuals_of(context_);
        average.trained_on = TrainedOn{sent->trained - since_.trained, since_.average};
        request_average(context_, std::move(average),
                        [this, vector = sent->vector](Result<AverageResult> result) {
                          take(vector, std::move(result));
                        });
      });
}

void PeriodUpdates::take(const Buffer& sent, Result<AverageResult> result) {
  const bool taken = result && !result->failed() && !round_.abandoned && context_.phase.serves();
  if (!taken) drop_residuals(context_, "a round that others may have counted");
  if (!result) return end(result.error());
  if (result->failed()) {
    context_.record(records::RoundFailed{round_.id.value(), result->why});
    proto::EndPeriodReply failed = reply();
    *failed.mutable_failure() = failure_of(*result);
    return end(std::move(failed));
  }
  if (!taken) return end(Error{ErrorCode::kCancelled, "the round was given up"});
  context_.device.run<uint64_t>(
      [part = context_.deps.training.average, mean = result->mean, sent,
       blocking = round_.blocking](tensor::Stage& stage) -> Result<uint64_t> {
        if (auto taken = stage.take_average(part, mean, sent); !taken) return taken.error();
        return blocking ? stage.averaged_checksum(part) : 0;
      },
      [this, result = *result](Result<uint64_t> checksum, double seconds) {
        if (!checksum) return end(checksum.error());
        take_residuals(context_, result);
        since_ = {round_.id, round_.trained};
        proto::EndPeriodReply taken = reply();
        taken.set_round_s(context_.now_s() - round_.began_s);
        taken.set_stall_s(round_.blocking ? taken.round_s() : round_.sent_s + seconds);
        taken.set_checksum(*checksum);
        taken.set_digest(result.digest);
        context_.checksum = *checksum;  // 0: of what goes on
        end(std::move(taken));
      });
}

void PeriodUpdates::end(Result<proto::EndPeriodReply> reply) {
  averaging_ = stalled_ = false;
  if (reply) {
    deliver(round_.promises, make_mail(std::move(*reply)));
  } else {
    context_.record(records::RoundFailed{round_.id.value(), reply.error()});
    deliver(round_.promises, about_others(reply.error()));
  }
  if (round_.save_afterwards && context_.at.has_state) context_.host->save_snapshot();
  context_.host->compute_next();
}

// -- membership

void PeriodUpdates::describe_to(proto::RegisterPeer& message) const {
  message.set_round(round_.id.value());
}

bool PeriodUpdates::go_on(const proto::RegisterPeerReply& verdict) {
  if (!context_.at.has_state) return false;
  enter_period(Step(verdict.open_step()));
  return true;
}

void PeriodUpdates::stop(const std::string& reason) {
  if (round_.id == Round()) return;
  caf::anon_send(context_.deps.averager, abandon_atom::value, round_.id);
  deliver(round_.promises, Error{ErrorCode::kCancelled, "the round was abandoned: " + reason});
  round_.abandoned = true;
}

/// Slots that are in an update stay so: they are not to make another. What the parameters build on is
/// not said with them.
void PeriodUpdates::loaded(bool from_seed) {
  context_.contributions.begin_epoch();
  since_.average = from_seed && updates_made_ == 0 ? Round() : TrainedOn::kNotKnown;
}

std::string PeriodUpdates::describe() const {
  const auto base = since_.average == TrainedOn::kNotKnown
                        ? std::string("not known")
                        : fmt::format("that of round {}", since_.average);
  return fmt::format("local updates {}, gradients' staleness {}{}{}, round {}, average {}",
                     updates_made_, staleness_.text(), averaging_ ? ", averaging" : "",
                     stalled_ ? ", stalled" : "", round_.id, base);
}

}  // namespace swarm::actors
