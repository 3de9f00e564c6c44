// StageServer, registration: what the coordinator is told, and what its verdict makes of the peer.
#include <fmt/format.h>

#include <algorithm>
#include <caf/send.hpp>

#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/stage/stage_server_state.h"
#include "common/printable.h"

namespace swarm::actors {
namespace {

uint64_t millis(routing::Time time) {
  return static_cast<uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

void describe_device(const routing::DeviceReport& device, proto::RegisterPeer& message) {
  message.set_job_ms(millis(device.job));
  message.set_usual_job_ms(millis(device.usual));
  if (device.since_job) message.set_since_job_ms(millis(*device.since_job));
}

}  // namespace

using std::chrono::milliseconds;

/// With delayed updates: what the last close left, an update applied and a sum that is gone, means
/// nothing to another coordinator; SERVE then makes the peer collapse.
void StageServerState::coordinator_changed() {
  if (context_->at.computed_ahead()) stop_serving("another coordinator");
  register_peer();
}

void StageServerState::register_peer() {
  const auto& deps = context_->deps;
  const auto& at = context_->at;
  const bool ends = context_->move.leaves() && context_->move.waits_for_answer();
  if (registering_ || updates_->committing() || !context_->coordinator->known()) return;
  if (context_->phase.is_busy()) return register_busy();
  if (!context_->phase.registers()) return;
  if (ends) return mover_->register_afterwards();
  proto::RegisterPeer message;
  *message.mutable_peer() = to_proto(deps.id, deps.endpoint, deps.node_name);
  message.set_stage(deps.stage.value());
  message.set_has_state(at.has_state);
  message.set_step(at.applied.value());
  message.set_checksum(context_->checksum);
  message.set_history(context_->history.value());
  message.set_swarm_peers(swarm_peers_);
  message.set_open_step(at.open_step.value());
  message.set_foreign_term(context_->coordinator->foreign_term().value());
  updates_->describe_to(message);
  keeper_->describe_to(message);
  copies_->describe_to(message);
  leaver_->describe_to(message);
  if (context_->phase.learns()) keeper_->learner().describe_to(message);
  message.set_up_bytes_per_s(context_->rates.best_send);
  message.set_down_bytes_per_s(context_->rates.best_receive);
  message.set_average_bytes(context_->average_bytes());
  describe_device(context_->device.report(), message);
  microbatches_->describe_to(message);
  mover_->describe_to(message);
  for (uint64_t bytes : context_->bytes_sent) message.add_bytes_sent(bytes);
  if (const RunText text = deps.text->get(); text.known()) *message.mutable_text() = to_proto(text);
  registering_ = true;
  context_->coordinator->request(
      make_mail(std::move(message), {}, milliseconds(3'000)),
      [this, as_of = at.applied](Result<Mail> reply) { registered(as_of, std::move(reply)); });
}

/// A coordinator that has taken over meanwhile takes its stage for lost otherwise.
void StageServerState::register_busy() {
  const auto& deps = context_->deps;
  proto::RegisterPeer message;
  *message.mutable_peer() = to_proto(deps.id, deps.endpoint, deps.node_name);
  message.set_stage(deps.stage.value());
  message.set_busy(true);
  registering_ = true;
  context_->coordinator->request(make_mail(std::move(message), {}, milliseconds(3'000)),
                                 [this](const Result<Mail>&) {
                                   registering_ = false;
                                   if (context_->phase.registers()) register_peer();
                                 });
}

/// `as_of`: updates applied, as the registration said.
void StageServerState::registered(Step as_of, Result<Mail> reply) {
  registering_ = false;
  if (!reply || reply->kind != proto::KIND_REGISTER_PEER_REPLY) return;  // the tick asks again
  proto::RegisterPeerReply verdict = reply->as<proto::RegisterPeerReply>();
  verdict.set_reason(printable(verdict.reason(), kMaxReason));
  if (!context_->phase.registers() || !context_->accept(Term(verdict.term()), std::nullopt)) return;
  context_->keep(verdict.text());
  leaver_->keep_before(verdict);
  if (verdict.has_keep()) keep_snapshot(Term(verdict.term()), keep_step_of(verdict.keep()));
  mover_->hear(verdict);
  if (!updates_->committing()) obey(as_of, verdict);
  copies_->obey(verdict);
}

void StageServerState::obey(Step as_of, const proto::RegisterPeerReply& verdict) {
  using Reply = proto::RegisterPeerReply;
  const bool takes_other =
      verdict.verdict() == Reply::VERDICT_INITIALIZE ||
      verdict.verdict() == Reply::VERDICT_RESTORE ||
      (verdict.verdict() == Reply::VERDICT_FETCH && context_->at.applied == as_of);
  if (context_->move.leaves() && takes_other)
    return mover_->go_now("it would have to take another state");
  switch (verdict.verdict()) {
    case Reply::VERDICT_SERVE:
      return serve(verdict);
    case Reply::VERDICT_INITIALIZE:
      enter(At::kLoading, "a fresh run");
      return keeper_->initialize();
    case Reply::VERDICT_RESTORE:
      enter(At::kLoading, fmt::format("own snapshot of step {}", verdict.step()));
      return keeper_->restore_own(Step(verdict.step()));
    case Reply::VERDICT_FETCH:
      if (context_->at.applied == as_of) fetch(verdict);  // else overtaken by a commit
      return;
    case Reply::VERDICT_WAIT:
      if (verdict.has_line_left()) leaver_->leave(verdict);
      if (context_->phase.learns()) keeper_->settle_learned();
      if (!verdict.has_line_left()) keeper_->take_another();
      stop_serving(verdict.reason());
      return register_later(
          milliseconds(std::clamp<uint32_t>(verdict.retry_after_ms(), 20, 2'000)));
    default:  // MOVE: see StageMover
      return;
  }
}

void StageServerState::serve(const proto::RegisterPeerReply& verdict) {
  if (!updates_->go_on(verdict)) return;
  microbatches_->refuse_attempts_below(Attempt(verdict.min_attempt()));
  swarm_peers_ = verdict.peers();
  leaver_->settled(verdict);
  if (context_->phase.serves()) return;
  keeper_->writer().forget_newer(context_->at.applied);
  copies_->forget_newer(context_->at.applied);
  keeper_->forget_learned();
  enter(At::kServing, verdict.reason());
  if (was_serving_)
    context_->record(records::Resumed{verdict.reason()});
  else
    context_->record(records::Joined{verdict.reason()});
  was_serving_ = true;
  announce();
}

void StageServerState::fetch(const proto::RegisterPeerReply& verdict) {
  const bool at_rest = verdict.exact() || updates_->states_change();
  if (!at_rest) {
    const auto sources = keeper_->holders(verdict);
    if (sources.empty()) return;
    enter(At::kLearning, "learning the state: " + verdict.reason());
    return keeper_->learn(sources, Step(verdict.step()));
  }
  if (keeper_->fetch(verdict)) enter(At::kLoading, "fetching the state: " + verdict.reason());
}

void StageServerState::register_later(milliseconds pause) {
  self_->delayed_send(self_, pause, run_later_atom::value, LocalTask([this] { register_peer(); }));
}

}  // namespace swarm::actors
