#include "actors/state/range_upload.h"

#include <fmt/format.h>

#include <utility>

#include "actors/net/requests.h"
#include "actors/state/options.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

constexpr size_t kMaxAsked = 256;
/// A range waits behind the jobs of the device, however long those take, and has its place of kMaxAsked until then:
/// who asked may wait for less, the device has the job all the same.
constexpr std::chrono::milliseconds kLongestRange = std::chrono::hours(1);

}  // namespace

RangeUpload::RangeUpload(caf::event_based_actor* self, Stage stage, caf::actor stage_server)
    : self_(self), stage_(stage), stage_server_(std::move(stage_server)) {}

void RangeUpload::stands(const std::optional<routing::StateLabel>& label) {
  newest_ = label;
  means_.clear();
}

void RangeUpload::applied(const routing::AppliedMean& mean) {
  newest_ = mean.after;
  means_.applied(mean, self_->clock().now().time_since_epoch());
}

Status RangeUpload::check(const proto::StateRange& request) const {
  if (Stage(request.stage()) != stage_)
    return Error{ErrorCode::kNotFound,
                 fmt::format("this peer serves stage {}, not {}", stage_, request.stage())};
  if (request.count() == 0 || request.count() > kMaxRangeElements)
    return Error{ErrorCode::kInvalidArgument, fmt::format("state_range: {} elements; 1 to {}",
                                                          request.count(), kMaxRangeElements)};
  if (!newest_ || !stage_server_) return Error{ErrorCode::kNotReady, "no state in memory yet"};
  if (asked_ >= kMaxAsked)
    return Error{ErrorCode::kOverloaded, "too many requests for ranges of this state", 200};
  return {};
}

void RangeUpload::range(const proto::StateRange& request, Promise promise) {
  if (Stage(request.stage()) == stage_) means_.asked(self_->clock().now().time_since_epoch());
  if (auto valid = check(request); !valid) {
    promise.deliver(to_caf(valid.error()));
    return;
  }
  if (!request.holds()) return give_state(request, promise);
  const routing::StateLabel held{Step(request.step()), request.checksum(),
                                 routing::History(request.history())};
  if (held == *newest_ || held.step > newest_->step) {
    auto nothing = reply();
    nothing.set_what(proto::StateRangeReply::WHAT_NOTHING);
    return answer(promise, std::move(nothing), {});
  }
  const auto* mean = means_.from(held);
  if (mean == nullptr) return give_state(request, promise);
  const uint64_t elements = mean->mean.size() / sizeof(float);
  if (request.first() >= elements || request.count() > elements - request.first()) {
    promise.deliver(to_caf(ErrorCode::kInvalidArgument,
                           fmt::format("state_range: outside of the {} parameters", elements)));
    return;
  }
  auto bring = reply();
  bring.set_what(proto::StateRangeReply::WHAT_MEAN);
  bring.set_step(mean->after.step.value());
  bring.set_checksum(mean->after.checksum);
  bring.set_history(mean->after.history.value());
  bring.set_clip_scale(mean->clip_scale);
  bring.set_round(mean->round.value());
  bring.set_digest(mean->digest);
  for (float factor : mean->factors) bring.add_factors(factor);
  // A copy: what waits in a slow link's queue must not keep the whole mean.
  const auto part =
      mean->mean.view().substr(request.first() * sizeof(float), request.count() * sizeof(float));
  answer(promise, std::move(bring), Buffer::from_string(std::string(part)));
}

void RangeUpload::give_state(const proto::StateRange& request, Promise promise) {
  ++asked_;
  const auto asked = self_->request(stage_server_, kLongestRange, range_atom::value,
                                    request.first(), request.count());
  const auto over = [this, mid = asked.id()] {
    --asked_;
    self_->clock().cancel_request_timeout(self_, mid);  // CAF keeps it until it has passed
  };
  asked.then(
      [this, promise, over, asked_at = self_->clock().now()](const RangeOfState& range) mutable {
        over();
        auto state = reply();
        const std::chrono::duration<double> waited = self_->clock().now() - asked_at;
        state.set_waited_s(waited.count());
        state.set_what(proto::StateRangeReply::WHAT_STATE);
        state.set_step(range.label.step.value());
        state.set_checksum(range.label.checksum);
        state.set_history(range.label.history.value());
        state.set_updates(range.counters.updates);
        state.set_momentum_product(range.counters.momentum_product);
        answer(promise, std::move(state), range.range);
      },
      [promise, over](const caf::error& error) mutable {
        over();
        promise.deliver(error);
      });
}

/// What every answer says.
proto::StateRangeReply RangeUpload::reply() const {
  proto::StateRangeReply reply;
  if (!newest_) return reply;  // it was lost meanwhile; the range is none the worse
  reply.set_newest_step(newest_->step.value());
  reply.set_newest_checksum(newest_->checksum);
  reply.set_newest_history(newest_->history.value());
  return reply;
}

void RangeUpload::answer(Promise promise, proto::StateRangeReply reply,
                         const Buffer& payload) const {
  reply.set_payload_digest(tensor::digest(payload.data(), payload.size()));
  promise.deliver(make_mail(std::move(reply), payload));
}

void RangeUpload::close() {
  stage_server_ = nullptr;
  stands(std::nullopt);
}

std::string RangeUpload::describe() const {
  if (!means_.wanted()) return "nobody learns";
  return fmt::format("learners are supplied, {} means kept", means_.kept());
}

}  // namespace swarm::actors
