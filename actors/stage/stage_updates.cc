#include "actors/stage/stage_updates.h"

#include <fmt/format.h>

#include <caf/send.hpp>

#include "actors/net/requests.h"
#include "actors/node/keep_text.h"
#include "actors/stage/period_updates.h"
#include "actors/stage/residuals.h"
#include "actors/stage/step_updates.h"
#include "actors/state/state_messages.h"
#include "tensor/core/codec.h"
#include "tensor/core/optimizer.h"

namespace swarm::actors {

std::unique_ptr<StageUpdates> make_stage_updates(StageContext& context) {
  if (context.deps.training.asynchronous()) return std::make_unique<PeriodUpdates>(context);
  return std::make_unique<StepUpdates>(context);
}

void give_up_state(StageContext& context, StageUpdates& updates) {
  context.at = {};
  context.checksum = 0;
  context.history = {};
  drop_residuals(context, "the peer takes another state");
  context.tell_standing();
  updates.loaded(/*from_seed=*/false);
  context.host->forget_answers();
}

void deliver(Promises& promises, const Result<Mail>& reply) {
  for (auto& promise : std::exchange(promises, {})) {
    if (reply)
      promise.deliver(*reply);
    else
      promise.deliver(to_caf(reply.error()));
  }
}

void request_average(StageContext& context, AverageRound round,
                     std::function<void(Result<AverageResult>)> done) {
  context.self
      ->request(context.deps.averager, context.deps.options.transfer_limit, average_atom::value,
                std::move(round))
      .then([done](const AverageResult& result) { done(result); },
            [done](const caf::error& error) { done(from_caf(error)); });
}

proto::RoundFailure failure_of(const AverageResult& result) {
  proto::RoundFailure failure;
  for (uint32_t place : result.unreached) failure.add_unreached(place);
  for (uint32_t place : result.not_finite) failure.add_not_finite(place);
  failure.set_reason(to_string(result.why));
  failure.set_link(result.link_failed);
  failure.set_late(result.late);
  return failure;
}

Error about_others(Error error) {
  if (error.code == ErrorCode::kLinkLost || error.code == ErrorCode::kNotFound ||
      error.code == ErrorCode::kShuttingDown || error.code == ErrorCode::kPeerTimeout)
    error.code = ErrorCode::kCancelled;
  return error;
}

// -- what all parts share

void StageContext::keep(const proto::Text& text) const { keep_text(*deps.text, text, at.applied); }

void StageContext::tell_standing() const {
  StandsAt stands;
  if (at.has_state) stands.label = routing::StateLabel{at.applied, checksum, history};
  caf::anon_send(deps.state_transfer, stands_atom::value, stands);
}

Status StageContext::accept(Term term, const std::optional<NodeId>& from) const {
  return coordinator->accept(term, from);
}

uint64_t StageContext::average_bytes() const {
  const auto& info = tensor::optimizer_info(deps.optimizer.kind);
  const uint64_t vectors = deps.training.averages_moments() ? 1 + info.moments.size() : 1;
  return tensor::codec_info(deps.average_codec).bytes(num_parameters * vectors);
}

proto::RouteHop StageContext::hop() const {
  proto::RouteHop here;
  here.set_stage(deps.stage.value());
  *here.mutable_peer() = to_proto(deps.id, deps.endpoint, deps.node_name);
  return here;
}

}  // namespace swarm::actors
