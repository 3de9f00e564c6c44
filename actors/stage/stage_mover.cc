#include "actors/stage/stage_mover.h"

#include <fmt/format.h>

#include <caf/send.hpp>

#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/printable.h"

namespace swarm::actors {
namespace {

using routing::StageMove;
using std::chrono::milliseconds;

/// How often it looks whether all is finished.
constexpr milliseconds kLook{50};
constexpr milliseconds kPatience{3'000};

}  // namespace

StageMover::StageMover(StageContext& context, const StageUpdates& updates,
                       const Microbatches& microbatches, std::function<void()> announce)
    : context_(context),
      updates_(updates),
      microbatches_(microbatches),
      announce_(std::move(announce)) {}

/// Also one that was to be told to serve: it hears that when it has shown the order.
bool StageMover::may_obey(Stage to) const {
  const auto& deps = context_.deps;
  const auto& phase = context_.phase;
  return phase.registers() && !phase.learns() && deps.move_to && to.value() < deps.num_stages &&
         to != deps.stage;
}

void StageMover::hear(const proto::RegisterPeerReply& verdict) {
  const Term term(verdict.term());
  if (verdict.verdict() != proto::RegisterPeerReply::VERDICT_MOVE) {
    if (context_.move.lapses(verdict.order(), term)) stays("the order has lapsed");
    return;
  }
  const StageMove::Order order{verdict.order(), term, Stage(verdict.move_to())};
  if (!may_obey(order.to) || !context_.move.told(order)) return;
  log_info(fmt::format("event=moves stage={} to={} order={} reason=\"{}\"", context_.deps.stage,
                       order.to, order.number, verdict.reason()));
  announce_();
  if (!looking_) look();
}

void StageMover::stop() {
  if (context_.move.end()) log_info("event=move_ends reason=\"it leaves, or takes another state\"");
}

void StageMover::describe_to(proto::RegisterPeer& message) const {
  message.set_may_move(static_cast<bool>(context_.deps.move_to));
  if (!context_.move.under_way()) return;
  message.set_moves_by(context_.move.order().number);
  message.set_moves_term(context_.move.order().term.value());
}

void StageMover::look() {
  looking_ = context_.move.under_way();
  if (!looking_) return;
  // What it owes while it does not serve the coordinator knows.
  const bool owes = microbatches_.any() || (context_.phase.serves() && updates_.owes());
  if (context_.move.asks(owes, now())) ask();
  context_.self->delayed_send(context_.self, kLook, run_later_atom::value,
                              LocalTask([this] { look(); }));
}

void StageMover::ask() {
  const auto& deps = context_.deps;
  const auto& order = context_.move.order();
  proto::MayLeave message;
  *message.mutable_peer() = to_proto(deps.id, deps.endpoint, deps.node_name);
  message.set_order(order.number);
  message.set_term(order.term.value());
  context_.coordinator->request(
      make_mail(std::move(message), {}, kPatience),
      [this, order](const Result<Mail>& reply) { answered(order, reply); });
}

void StageMover::answered(const StageMove::Order& order, const Result<Mail>& reply) {
  auto& move = context_.move;
  proto::MayLeaveReply answer;
  const bool told = reply && reply->kind == proto::KIND_MAY_LEAVE_REPLY;
  if (told) answer = reply->as<proto::MayLeaveReply>();
  const bool counts = told && context_.accept(Term(answer.term()), std::nullopt).ok();
  const routing::Time later = milliseconds(answer.retry_after_ms());
  switch (move.answered(order, counts && answer.yes(), counts ? later : StageMove::kRetry, now())) {
    case StageMove::Answer::kGo:
      return go();
    case StageMove::Answer::kServeOn:
      return stays(printable(answer.reason(), kMaxReason));
    case StageMove::Answer::kNone:
    case StageMove::Answer::kLater:
      return;
  }
}

void StageMover::stays(const std::string& reason) {
  log_info(fmt::format("event=move_ends stage={} reason=\"{}\"", context_.deps.stage, reason));
  announce_();
}

void StageMover::go() {
  const auto& deps = context_.deps;
  log_info(fmt::format("event=moved stage={} to={}", deps.stage, context_.move.order().to));
  deps.move_to(context_.move.order().to);
  context_.self->quit(caf::exit_reason::user_shutdown);
}

routing::Time StageMover::now() const { return context_.self->clock().now().time_since_epoch(); }

}  // namespace swarm::actors
