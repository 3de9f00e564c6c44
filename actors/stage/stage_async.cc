// StageServer, asynchronous mode (docs/asynchronous.md): what local updates leave to tell, periods,
// and the averaging of weights.
#include <algorithm>
#include <caf/send.hpp>
#include <sstream>

#include "actors/net/local.h"
#include "actors/stage/stage_server_state.h"
#include "common/names.h"

namespace swarm::actors {

void StageServerState::note_updates(const LocalUpdates& updates) {
  if (updates.refused) record(records::UpdateRefused{updates.refused->detail});
  if (!updates.staleness.empty()) {
    ++updates_made_;
    checksum_ = 0;  // of parameters that are no more
  }
  for (uint64_t staleness : updates.staleness) {
    staleness_.add(staleness);
    period_staleness_.add(staleness);
  }
}

std::string StageServerState::describe_updates() const {
  std::ostringstream text;
  text << "local updates " << updates_made_ << ", gradients' staleness " << staleness_.text()
       << (averaging_ ? ", averaging" : "") << (stalled_ ? ", stalled" : "") << "\n";
  return text.str();
}

/// The period gives snapshots their number and says which microbatches are too old.
void StageServerState::enter_period(uint64_t period) {
  step_ = applied_ = computed_on_ = std::max(step_, period);
}

proto::EndPeriodReply StageServerState::period_reply() {
  proto::EndPeriodReply reply;
  period_staleness_.write(reply);
  period_staleness_ = {};
  for (uint64_t bytes : bytes_sent_) reply.add_bytes_sent(bytes);
  return reply;
}

caf::result<Mail> StageServerState::on_end_period(const Mail& mail) {
  const auto& message = mail.as<proto::EndPeriod>();
  if (!coordinator_->accept(message.term()))
    return to_caf(ErrorCode::kStaleTerm, "term " + std::to_string(coordinator_->term()) + " rules");
  if (phase_ != Phase::kServing) return to_caf(not_ready());
  if (!asynchronous()) return to_caf(ErrorCode::kInvalidArgument, "the mode is synchronous");
  enter_period(message.period() + 1);
  if (message.members_size() == 0) {
    if (message.save_checkpoint()) save_snapshot([](Status) {});
    return make_mail(period_reply());
  }
  if (averaging_ && message.round() == round_.id) {  // a repeat
    auto promise = self_->make_response_promise();
    round_.promises.push_back(promise);
    return promise;
  }
  if (averaging_)
    return to_caf(Error{ErrorCode::kOverloaded, "an earlier round is under way", 100});
  // Taken again, a round's average would take back the updates made since.
  if (message.round() <= round_.id) return to_caf(ErrorCode::kStaleStep, "the round is over here");
  AverageRound round;
  round.round = message.round();
  round.self = static_cast<uint32_t>(message.members_size());
  round.total_samples = static_cast<uint64_t>(message.members_size());
  for (int i = 0; i < message.members_size(); ++i) {
    auto peer = from_proto(message.members(i));
    if (!peer) return to_caf(peer.error());
    if (peer->id == deps_.id) round.self = static_cast<uint32_t>(i);
    round.members.push_back({beside(peer->id, Role::kAverager), peer->endpoint, /*samples=*/1});
  }
  if (round.self == round.members.size())
    return to_caf(ErrorCode::kInvalidArgument, "this peer is no member");
  auto promise = self_->make_response_promise();
  round_ = Round{};
  round_.id = message.round();
  round_.promises.push_back(promise);
  begin_round(message, std::move(round));
  return promise;
}

void StageServerState::begin_round(const proto::EndPeriod& message, AverageRound round) {
  averaging_ = true;
  stalled_ = message.blocking();
  round_began_ = now();
  compute<Buffer>(
      self_, deps_.compute,
      [part = averaged_part(deps_.training)](tensor::Stage& stage) {
        return stage.to_average(part);
      },
      [this, message, round = std::move(round)](Result<Buffer> sent, double seconds) mutable {
        if (!sent) return end_round(message, sent.error());
        round.gradient = *sent;
        round.n = sent->size() / sizeof(float);
        self_->request(deps_.averager, caf::infinite, average_atom::value, std::move(round))
            .then(
                [this, message, sent = *sent, seconds](const AverageResult& result) {
                  take_average(message, sent, seconds, result);
                },
                [this, message, sent = *sent, seconds](const caf::error& error) {
                  take_average(message, sent, seconds, from_caf(error));
                });
      });
}

void StageServerState::take_average(const proto::EndPeriod& message, const Buffer& sent,
                                    double sent_s, Result<AverageResult> result) {
  if (!result) return end_round(message, result.error());
  bool given_up = round_.id != message.round() || round_.abandoned || phase_ != Phase::kServing;
  if (given_up) return end_round(message, Error{ErrorCode::kCancelled, "the round was given up"});
  compute<uint64_t>(
      self_, deps_.compute,
      [part = averaged_part(deps_.training), mean = result->mean, sent,
       blocking = message.blocking()](tensor::Stage& stage) -> Result<uint64_t> {
        if (auto taken = stage.take_average(part, mean, sent); !taken) return taken.error();
        return blocking ? stage.checksum() : 0;
      },
      [this, message, sent_s](Result<uint64_t> checksum, double seconds) {
        if (!checksum) return end_round(message, checksum.error());
        proto::EndPeriodReply reply = period_reply();
        reply.set_round_s(since(round_began_));
        reply.set_stall_s(message.blocking() ? reply.round_s() : sent_s + seconds);
        reply.set_checksum(*checksum);
        if (*checksum != 0) checksum_ = *checksum;
        end_round(message, std::move(reply));
      });
}

void StageServerState::end_round(const proto::EndPeriod& message,
                                 Result<proto::EndPeriodReply> reply) {
  averaging_ = stalled_ = false;
  if (!reply) record(records::RoundFailed{message.round(), reply.error()});
  if (round_.id == message.round()) {
    for (auto& promise : round_.promises) {
      if (reply)
        promise.deliver(make_mail(*reply));
      else
        promise.deliver(to_caf(about_others(reply.error())));
    }
    round_.promises.clear();
  }
  if (message.save_checkpoint() && has_state_) save_snapshot([](Status) {});
  pump();
}

}  // namespace swarm::actors
