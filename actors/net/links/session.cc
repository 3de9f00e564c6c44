#include "actors/net/links/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "actors/net/errors.h"
#include "actors/net/links/body_rule.h"
#include "actors/net/links/head_rule.h"
#include "actors/net/links/session_frames.h"
#include "actors/net/mail_roles.h"
#include "common/check.h"

namespace swarm::actors::links {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kRequestBytes = 512;  // of one that waits, besides its head

FrameLimits limits(const LinksOptions& options) {
  return {options.max_chunk_bytes, options.max_head_bytes, options.max_body_bytes, head_limit};
}

/// Parses a head into the type of its kind; null when either is wrong, or it would take far more memory
/// than it has bytes.
std::shared_ptr<const google::protobuf::Message> parse_head(const InFrame& frame) {
  auto head = new_head(static_cast<proto::MessageKind>(frame.header.kind));
  if (!head || !is_lean(*head->GetDescriptor(), frame.head)) return nullptr;
  if (!head->ParseFromString(frame.head)) return nullptr;
  return head;
}

}  // namespace

Session::Session(std::shared_ptr<const LinksOptions> options, bool dialled,
                 std::shared_ptr<ReceiveBudget> budget, TimePoint now, std::string remote,
                 const Admissions* admissions, Wanted wanted)
    : options_(std::move(options)),
      dialled_(dialled),
      remote_(std::move(remote)),
      admissions_(admissions),
      wanted_(std::move(wanted)),
      handshake_(*options_, dialled),
      decoder_(limits(*options_), std::move(budget),
               [this](const FrameHeader& header, const std::string& actor) {
                 const bool may = (senders_of(header.kind) & handshake_.roles()) != 0;
                 if (header.flags != kReply && !may) return BodyRule::kSkip;
                 return body_rule(header, actor, requests_, admissions_);
               }),
      output_(options_->join_share),
      created_(now),
      last_mail_(now),
      pulse_(options_->heartbeat_every, options_->silence_limit, now) {
  if (wanted_.node) handshake_.expect(*wanted_.node);
  if (dialled_) output_.push(handshake_.first());
}

// ---- receiving ----------------------------------------------------------------------------------

void Session::receive(const void* data, size_t size, TimePoint now) {
  if (state_ == State::kClosed) return;
  pulse_.heard(now);
  auto bytes = static_cast<const uint8_t*>(data);
  if (paused_) {
    held_back_.insert(held_back_.end(), bytes, bytes + size);
    return;
  }
  drain(bytes, size, now);
}

void Session::resume(TimePoint now) {
  if (state_ == State::kClosed || !paused_) return;
  paused_ = false;
  pulse_.not_read(now);  // the silence was ours
  auto bytes = std::move(held_back_);
  held_back_.clear();
  drain(bytes.data(), bytes.size(), now);
}

void Session::drain(const uint8_t* data, size_t size, TimePoint now) {
  while (state_ != State::kClosed && size > 0) {
    size_t used = 0;
    auto outcome = decoder_.feed(data, size, used);
    data += used;
    size -= used;
    switch (outcome) {
      case FrameDecoder::Outcome::kMore:
        break;
      case FrameDecoder::Outcome::kFrame:
        on_frame(std::move(decoder_.frame()), now);
        break;
      case FrameDecoder::Outcome::kNeedBudget:
        paused_ = true;
        held_back_.assign(data, data + size);
        return;
      case FrameDecoder::Outcome::kVersion:
        complaints_.refused = true;
        close({ErrorCode::kRefused, decoder_.error(), 0}, true);
        return tell_refused(*options_, {remote_, dialled_, reason_.detail, {}});
      case FrameDecoder::Outcome::kMalformed:
        break_off(decoder_.error());
        return;
    }
  }
}

void Session::break_off(std::string why) {
  complaints_.malformed = true;
  close({ErrorCode::kLinkLost, "malformed bytes: " + why, 0}, true);
}

void Session::on_frame(InFrame frame, TimePoint now) {
  bool farewell = frame.header.kind == proto::KIND_ERROR && frame.header.flags == kOneWay;
  if (farewell) {
    proto::Error message;
    if (!message.ParseFromString(frame.head)) return break_off("unreadable error frame");
    auto error = from_proto(message);
    complaints_.refused = complaints_.refused || error.code == ErrorCode::kRefused;
    if (state_ == State::kHello && error.code == ErrorCode::kRefused)
      tell_refused(*options_, {remote_, dialled_, error.detail, {}});
    if (state_ == State::kUp && error.code != ErrorCode::kShuttingDown) {
      error.code = ErrorCode::kLinkLost;
    }
    return close(error, false);
  }
  if (state_ == State::kHello) return on_greeting(frame);
  switch (frame.header.kind) {
    case proto::KIND_HELLO:
    case proto::KIND_PROOF:
      return break_off("a second hello or proof");
    case proto::KIND_HEARTBEAT:
      return on_heartbeat(frame, now);
    case proto::KIND_CANCEL_REQUEST: {
      proto::CancelRequest cancel;
      if (!cancel.ParseFromString(frame.head)) return;
      serving_.take(cancel.request_id());
      if (cancel.request_id() == 0) events_.push_back({LinkEvent::Type::kGivenUp, 0, {}, {}, {}});
      return;
    }
    default:
      last_mail_ = now;
      return frame.header.flags == kReply ? on_reply(std::move(frame)) : on_mail(std::move(frame));
  }
}

void Session::on_greeting(const InFrame& frame) {
  auto answer = handshake_.take(frame);
  if (!answer && answer.code() != ErrorCode::kRefused) return break_off(answer.error().detail);
  if (!answer) {
    complaints_.refused = true;
    close(answer.error(), true);
    return tell_refused(*options_, {remote_, dialled_, reason_.detail, {}});
  }
  if (wanted_.cut && wanted_.cut(handshake_.peer().name)) return;  // too late, says dial_timeout
  if (handshake_.done() && wanted_.judge) {
    if (auto may = wanted_.judge(handshake_.peer(), (handshake_.roles() & kOperator) != 0); !may) {
      complaints_.refused = true;
      close(may.error(), true);
      return tell_refused(*options_, {remote_, dialled_, reason_.detail, {}});
    }
  }
  if (*answer) output_.push(std::move(**answer));
  if (!handshake_.done()) return;
  peer_ = handshake_.peer();
  state_ = State::kUp;
  decoder_.trust((handshake_.roles() & kOperator) != 0);
  events_.push_back({LinkEvent::Type::kUp, 0, {}, {}, {}});
}

void Session::on_heartbeat(const InFrame& frame, TimePoint now) {
  proto::Heartbeat beat;
  if (!beat.ParseFromString(frame.head)) return break_off("unreadable heartbeat");
  if (beat.sent_us() != 0) {
    if (output_.frames() >= kMaxQueuedFrames) return;  // it asks, but does not read
    proto::Heartbeat echo;
    echo.set_echo_us(beat.sent_us());
    return output_.push(control_frame(proto::KIND_HEARTBEAT, echo));
  }
  pulse_.echoed(beat.echo_us(), now);
}

void Session::on_reply(InFrame frame) {
  const auto request = requests_.take(frame.header.request_id);
  if (!request) return;  // given up already
  const bool fits =
      frame.header.kind == proto::KIND_ERROR || frame.header.kind == reply_kind(request->kind);
  auto head = parse_head(frame);
  LinkEvent event{LinkEvent::Type::kReply, request->id, {}, {}, {}};
  if (!head || !fits) {
    ++complaints_.malformed_mail;
    event.type = LinkEvent::Type::kFailed;
    event.error = {ErrorCode::kInternal,
                   (fits ? "unreadable reply from " : "a reply of another kind from ") + peer_.name,
                   0};
  } else if (frame.header.kind == proto::KIND_ERROR) {
    output_.forget_request(request->traffic, request->id);  // it may have been refused half-way
    event.type = LinkEvent::Type::kFailed;
    event.error = from_proto(static_cast<const proto::Error&>(*head));
  } else {
    event.mail =
        Mail{static_cast<proto::MessageKind>(frame.header.kind), std::move(head),
             std::move(frame.body), milliseconds(frame.header.budget_ms), std::move(frame.hold)};
  }
  events_.push_back(std::move(event));
}

void Session::on_mail(InFrame frame) {
  if (output_.frames() >= 2 * kMaxQueuedFrames)
    return break_off("it does not read what it asks for");
  uint64_t id = frame.header.flags == kRequest ? frame.header.request_id : 0;
  const bool known = senders_of(frame.header.kind) != 0;
  std::string right = no_right(frame.header.kind, handshake_.roles(), handshake_.has_key());
  if (known && (!right.empty() || frame.skipped)) {
    if (!right.empty()) tell_refused(*options_, {remote_, dialled_, right, peer_.name});
    if (id == 0) return;
    // It may take mail again by now.
    const Error again{ErrorCode::kOverloaded, "all places were taken", 1};
    const Error why = right.empty() ? admissions_->refusal(frame.actor).value_or(again)
                                    : Error{ErrorCode::kRefused, std::move(right), 0};
    return output_.push(
        make_frame(proto::KIND_ERROR, kReply, id, milliseconds(0), {}, short_error(why), {}));
  }
  auto head = parse_head(frame);
  const uint64_t head_bytes = kRequestBytes + (head ? head->SpaceUsedLong() : 0);
  const bool room = frame.hold->add_head(head_bytes) || (handshake_.roles() & kOperator) != 0;
  if (id != 0 && !serving_.add(id, head_bytes)) return break_off("a request id used twice");
  if (!head) {
    ++complaints_.malformed_mail;
    return reply(
        id, Error{ErrorCode::kInvalidArgument,
                  "unknown or unreadable message of kind " + std::to_string(frame.header.kind), 0});
  }
  if (serving_.too_many() || !room)
    return reply(id, Error{ErrorCode::kOverloaded, "too many open requests here", 100});
  Mail mail{static_cast<proto::MessageKind>(frame.header.kind),
            std::move(head),
            std::move(frame.body),
            milliseconds(frame.header.budget_ms),
            std::move(frame.hold),
            peer_.id,
            peer_.name};
  events_.push_back({LinkEvent::Type::kMail, id, std::move(frame.actor), std::move(mail), {}});
}

// ---- time and end -------------------------------------------------------------------------------

void Session::tick(TimePoint now) {
  if (state_ == State::kClosed) return;
  if (state_ == State::kHello) {
    if (now - created_ > options_->dial_timeout) {
      close({ErrorCode::kPeerTimeout, "no hello within dial_timeout", 0}, !dialled_);
    }
    return;
  }
  for (const auto& request : requests_.take_expired(now)) {
    if (!output_.forget_request(request.traffic, request.id)) {
      proto::CancelRequest cancel;
      cancel.set_request_id(request.id);
      output_.push(control_frame(proto::KIND_CANCEL_REQUEST, cancel));
    }
    events_.push_back({LinkEvent::Type::kFailed,
                       request.id,
                       {},
                       {},
                       {ErrorCode::kPeerTimeout, "no answer from " + peer_.name + " in time", 0}});
  }
  if (!paused_ && pulse_.silent(now)) {
    return close({ErrorCode::kLinkLost, peer_.name + " has been silent for too long", 0}, false);
  }
  uint64_t received = 0;
  for (uint64_t bytes : decoder_.bytes()) received += bytes;
  if (pulse_.too_slow(!paused_ && decoder_.keeps_others_waiting(), received, now))
    return close({ErrorCode::kLinkLost,
                  fmt::format("{} sends less than {} bytes/s while a body of it is half here",
                              peer_.name, Pulse::kLeastBytesPerS),
                  0},
                 true);
  if (!pulse_.due(now)) return;
  if (const auto beat = pulse_.beat(now, output_.pushed()))
    output_.push(control_frame(proto::KIND_HEARTBEAT, *beat));
}

bool Session::due(TimePoint now) const {
  switch (state_) {
    case State::kClosed:
      return false;
    case State::kHello:
      return now - created_ > options_->dial_timeout;
    case State::kUp:
      break;
  }
  return pulse_.due(now) || requests_.expired(now) || pulse_.silent(now);
}

void Session::close(const Error& reason, bool tell) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  reason_ = reason;
  Error lost = reason;
  if (lost.code != ErrorCode::kRefused && lost.code != ErrorCode::kPeerTimeout) {
    lost.code = ErrorCode::kLinkLost;
  }
  for (const auto& request : requests_.take_all()) {
    events_.push_back({LinkEvent::Type::kFailed, request.id, {}, {}, lost});
  }
  serving_.clear();
  held_back_.clear();
  paused_ = false;
  // A frame of the control class that is half sent must end before the farewell.
  const bool half = output_.clear();
  if (tell && !half) output_.push(control_frame(proto::KIND_ERROR, short_error(reason)));
}

std::vector<LinkEvent> Session::take_events() {
  std::vector<LinkEvent> events;
  events.swap(events_);
  return events;
}

std::optional<TimePoint> Session::idle_since() const {
  const bool receives = decoder_.expects_body() || paused_;
  if (requests_.size() > 0 || !serving_.empty() || !output_.empty() || receives)
    return std::nullopt;
  return last_mail_;
}

LinkStats Session::stats(TimePoint now) const {
  LinkStats stats;
  stats.node = peer_;
  stats.remote = remote_;
  stats.proven = (handshake_.roles() & kOperator) != 0;
  stats.bytes_sent = output_.sent();
  stats.bytes_received = decoder_.bytes();
  stats.messages_sent = output_.frames_sent();
  stats.messages_received = decoder_.frames();
  stats.queued_bytes = output_.bytes();
  stats.queued_work_bytes =
      output_.bytes(proto::KIND_FORWARD) + output_.bytes(proto::KIND_FORWARD_REPLY);
  stats.queued_answer_bytes = output_.reply_bytes();
  stats.pending_requests = static_cast<uint32_t>(requests_.size());
  stats.round_trip_s = pulse_.round_trip_s();
  stats.up_s = std::chrono::duration<double>(now - created_).count();
  return stats;
}

}  // namespace swarm::actors::links
