#include "actors/stage/stage_mover.h"

#include <fmt/format.h>

#include <caf/send.hpp>
#include <utility>

#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "actors/stage/residuals.h"
#include "common/printable.h"
#include "records/catalogue.h"

namespace swarm::actors {
namespace {

using routing::StageMove;
using std::chrono::milliseconds;

/// How often it looks whether all is finished.
constexpr milliseconds kLook{50};
constexpr milliseconds kPatience{3'000};
/// Who leaves waits so long for a coordinator that it does not know, or that does not answer.
constexpr milliseconds kUnknown{2'000}, kSilent{5'000};
/// Whatever the coordinator says a step takes.
constexpr milliseconds kLongest = std::chrono::hours(24);

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

void StageMover::leave(milliseconds grace, std::function<void()> gone) {
  if (!context_.move.leave(now() + grace)) return;
  say_goodbye();
  gone_ = std::move(gone);
  since_ = heard_ = now();
  log_info(
      fmt::format("event=leaves_stage stage={} grace_ms={}", context_.deps.stage, grace.count()));
  announce_();
  if (!looking_) look();
}

/// Nobody is to take the end of a node that was told to leave for a failure.
void StageMover::say_goodbye() {
  if (!context_.coordinator->known()) return;
  const auto& deps = context_.deps;
  proto::RegisterPeer message;
  *message.mutable_peer() = to_proto(deps.id, deps.endpoint, deps.node_name);
  message.set_stage(deps.stage.value());
  message.set_leaves(true);
  context_.coordinator->request(make_mail(std::move(message), {}, milliseconds(3'000)),
                                [](const Result<Mail>&) {});
}

/// What it owes while it does not serve the coordinator knows.
bool StageMover::owes() const {
  return microbatches_.any() || (context_.phase.serves() && updates_.owes());
}

void StageMover::look() {
  auto& move = context_.move;
  looking_ = move.under_way();
  if (!looking_) return;
  if (move.expired(now())) return go_now("its time is over");
  const bool known = context_.coordinator->known();
  if (move.leaves() && !known && now() - heard_ >= kUnknown)
    return end("no coordinator is known", false);
  if (known && move.asks(owes(), now())) {
    if (move.leaves())
      ask_to_end(/*goes=*/false, [this](const Result<Mail>& reply) { answered(reply); });
    else
      ask();
  }
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

void StageMover::ask_to_end(bool goes, std::function<void(const Result<Mail>&)> answered) {
  const auto& deps = context_.deps;
  proto::MayLeave message;
  *message.mutable_peer() = to_proto(deps.id, deps.endpoint, deps.node_name);
  message.set_ends(true);
  message.set_idle(!owes());
  message.set_goes(goes);
  context_.coordinator->request(make_mail(std::move(message), {}, kPatience), std::move(answered));
}

void StageMover::answered(const Result<Mail>& reply) {
  auto& move = context_.move;
  if (!move.leaves()) return;
  proto::MayLeaveReply answer;
  const bool told = reply && reply->kind == proto::KIND_MAY_LEAVE_REPLY;
  if (told) answer = reply->as<proto::MayLeaveReply>();
  if (!told || !context_.accept(Term(answer.term()), std::nullopt)) return unanswered();
  heard_ = now();
  const milliseconds left(std::min<uint64_t>(answer.remaining_ms(), kLongest.count()));
  const std::string reason = printable(answer.reason(), kMaxReason);
  const bool gone = move.may_end(answer.yes(), milliseconds(answer.retry_after_ms()), left, now());
  if (answer.yes()) return end(reason, answer.finished());
  if (gone)
    return go_now(fmt::format("{} for about {:.1f} s, which is too long", reason,
                              std::chrono::duration<double>(left).count()));
  if (std::exchange(registers_, false)) context_.host->register_peer();
}

/// Its word does not count, or there is none: the next one may.
void StageMover::unanswered() {
  context_.move.may_end(false, StageMove::kRetry, {}, now());
  if (now() - heard_ >= kSilent) return go_now("the coordinator does not answer");
  if (std::exchange(registers_, false)) context_.host->register_peer();
}

void StageMover::go_now(const std::string& reason) {
  if (context_.coordinator->known()) ask_to_end(/*goes=*/true, [](const Result<Mail>&) {});
  end(reason, /*finished=*/false);
}

void StageMover::end(const std::string& reason, bool finished) {
  context_.move.gone();
  looking_ = false;
  const std::chrono::duration<double> waited = now() - since_;
  records::StageLeft event{finished, {}, waited.count(), reason};
  if (!updates_.states_change()) event.slots = context_.contributions.size();
  context_.record(event);
  std::exchange(gone_, {})();
}

void StageMover::stays(const std::string& reason) {
  log_info(fmt::format("event=move_ends stage={} reason=\"{}\"", context_.deps.stage, reason));
  announce_();
}

void StageMover::go() {
  const auto& deps = context_.deps;
  log_info(fmt::format("event=moved stage={} to={}", deps.stage, context_.move.order().to));
  drop_residuals(context_, "the peer moves");
  deps.move_to(context_.move.order().to);
  context_.self->quit(caf::exit_reason::user_shutdown);
}

routing::Time StageMover::now() const { return context_.self->clock().now().time_since_epoch(); }

}  // namespace swarm::actors
