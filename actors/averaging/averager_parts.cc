// Averager: what the other members of a round ask.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/averaging/averager_state.h"
#include "actors/net/requests.h"

namespace swarm::actors {

using std::chrono::milliseconds;

caf::result<Mail> Averager::on_mail(const Mail& mail) {
  auto promise = self_->make_response_promise<Mail>();
  if (mail.kind == proto::KIND_AVERAGE_PART)
    on_part(mail, promise);
  else
    promise.deliver(to_caf(ErrorCode::kInvalidArgument,
                           std::string("an averager takes no ") + kind_name(mail.kind)));
  return promise;
}

void Averager::on_part(const Mail& mail, MailPromise promise) {
  const Round round(mail.as<proto::AveragePart>().round());
  if (round_ && id() == round) return serve(mail, promise);
  if (round > newest_) return hold(mail, promise);
  promise.deliver(
      to_caf(ErrorCode::kStaleStep, fmt::format("averaging: round {} is over here", round)));
}

/// A part between two members that cannot reach each other.
void Averager::pass_on(const Mail& mail, MailPromise promise) {
  proto::AveragePart head = mail.as<proto::AveragePart>();
  const auto& spec = round_->work->spec();
  const uint32_t to = head.relay_to() - 1;
  if (to >= spec.members.size() || to == spec.self || head.sender() == to || spec.members[to].via) {
    promise.deliver(
        to_caf(invalid_average(fmt::format("member {} is not reached through this one", to))));
    return;
  }
  if (!round_->proxies[to]) {
    if (round_->work->requests_to(to) == 0) resolve(to);  // else it is under way
    promise.deliver(to_caf(Error{ErrorCode::kOverloaded, "averaging: not linked yet",
                                 static_cast<uint32_t>(kPartRetry.count())}));
    return;
  }
  head.clear_relay_to();
  const Mail passed = make_mail(std::move(head), mail.body, mail.budget);
  request_mail(self_, round_->proxies[to], passed,
               [this, round = id(), to, promise](Result<Mail> reply) mutable {
                 if (reply) return (void)promise.deliver(std::move(*reply));
                 const bool lost = reply.code() == ErrorCode::kLinkLost;
                 // The asker has a link, to here: it is this one that does not reach `to`.
                 promise.deliver(to_caf(lost ? ErrorCode::kCancelled : reply.code(),
                                        "passed on: " + reply.error().detail));
                 if (lost && running(round)) fail(reply.error(), {to});
               });
}

/// A part comes from the member that it names, or from the one that passes that member's parts on to here.
Status Averager::check_sender(const Mail& mail) const {
  const auto& members = round_->work->spec().members;
  const auto& head = mail.as<proto::AveragePart>();
  if (head.sender() >= members.size())
    return invalid_average(fmt::format("sender {} is no other member", head.sender()));
  return speaks_for(mail, members[asked_for(head.sender())].averager.node);
}

void Averager::serve(const Mail& mail, MailPromise promise) {
  const auto& head = mail.as<proto::AveragePart>();
  if (auto own = check_sender(mail); !own) return (void)promise.deliver(to_caf(own.error()));
  if (head.relay_to() != 0) return pass_on(mail, std::move(promise));
  auto number = round_->work->contribute(head, mail.body);
  if (!number.ok()) {
    promise.deliver(to_caf(number.error()));
    return;
  }
  auto& waiting = round_->waiting[*number];
  auto [place, fresh] = waiting.try_emplace(head.sender(), promise);
  if (!fresh) {  // sent again: the old request is no longer waited for
    place->second.deliver(to_caf(ErrorCode::kCancelled, "asked again"));
    place->second = promise;
  }
  go_on();
}

/// The round has not started here; wait for it, within limits.
void Averager::hold(const Mail& mail, MailPromise promise) {
  if (!held_.has_room(mail)) {
    Error error{ErrorCode::kOverloaded, "averaging: too many parts of rounds to come"};
    error.retry_after_ms = static_cast<uint32_t>(kPartRetry.count());
    promise.deliver(to_caf(error));
    return;
  }
  const auto budget = std::min(std::max(mail.budget, milliseconds(1)), milliseconds(3'600'000));
  held_.hold(Round(mail.as<proto::AveragePart>().round()),
             {mail, std::move(promise), self_->clock().now() + budget});
  later(budget, [this] { drop_expired(); });
}

/// Serves what waited for the round that runs now and refuses what is over.
void Averager::release_held() {
  for (auto& part : held_.take(newest_)) on_part(part.mail, part.promise);
}

void Averager::drop_expired() {
  for (auto& part : held_.take_expired(self_->clock().now()))
    part.promise.deliver(
        to_caf(ErrorCode::kPeerTimeout, "averaging: the round never started here"));
}

}  // namespace swarm::actors
