#include "actors/net/links/session.h"

#include <algorithm>

#include "actors/net/errors.h"
#include "common/check.h"

namespace swarm::actors::links {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kMaxQueuedFrames = 100'000;
constexpr size_t kMaxServing = 100'000;
constexpr std::chrono::seconds kProbeEvery{10};  // of the round trip

uint64_t micros(TimePoint time) {
  return static_cast<uint64_t>(duration_cast<microseconds>(time.time_since_epoch()).count()) + 1;
}

FrameLimits limits(const LinksOptions& options) {
  return {options.max_chunk_bytes, options.max_head_bytes, options.max_body_bytes};
}

/// Parses a head into the type of its kind; null when either is wrong.
std::shared_ptr<const google::protobuf::Message> parse_head(const InFrame& frame) {
  auto head = new_head(static_cast<proto::MessageKind>(frame.header.kind));
  if (!head || !head->ParseFromString(frame.head)) return nullptr;
  return head;
}

}  // namespace

Session::Session(std::shared_ptr<const LinksOptions> options, bool dialled,
                 std::shared_ptr<ReceiveBudget> budget, TimePoint now)
    : options_(std::move(options)),
      dialled_(dialled),
      decoder_(limits(*options_), std::move(budget)),
      created_(now),
      heard_(now),
      last_mail_(now),
      next_heartbeat_(now),
      next_probe_(now) {
  if (dialled_) enqueue_control(proto::KIND_HELLO, make_hello(*options_));
}

// ---- receiving ----------------------------------------------------------------------------------

void Session::receive(const void* data, size_t size, TimePoint now) {
  if (state_ == State::kClosed) return;
  heard_ = now;
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
  heard_ = now;  // the silence was ours
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
        refused_ = true;
        close({ErrorCode::kRefused, decoder_.error(), 0}, true);
        return;
      case FrameDecoder::Outcome::kMalformed:
        break_off(decoder_.error());
        return;
    }
  }
}

void Session::break_off(std::string why) {
  malformed_ = true;
  close({ErrorCode::kLinkLost, "malformed bytes: " + why, 0}, true);
}

void Session::on_frame(InFrame frame, TimePoint now) {
  bool farewell = frame.header.kind == proto::KIND_ERROR && frame.header.flags == kOneWay;
  if (farewell) {
    proto::Error message;
    if (!message.ParseFromString(frame.head)) return break_off("unreadable error frame");
    auto error = from_proto(message);
    refused_ = refused_ || error.code == ErrorCode::kRefused;
    if (state_ == State::kUp && error.code != ErrorCode::kShuttingDown) {
      error.code = ErrorCode::kLinkLost;
    }
    return close(error, false);
  }
  if (state_ == State::kHello) return on_hello(frame);
  switch (frame.header.kind) {
    case proto::KIND_HELLO:
      return break_off("a second hello");
    case proto::KIND_HEARTBEAT:
      return on_heartbeat(frame, now);
    case proto::KIND_CANCEL_REQUEST: {
      proto::CancelRequest cancel;
      if (cancel.ParseFromString(frame.head)) serving_.erase(cancel.request_id());
      return;
    }
    default:
      last_mail_ = now;
      return frame.header.flags == kReply ? on_reply(std::move(frame)) : on_mail(std::move(frame));
  }
}

void Session::on_hello(const InFrame& frame) {
  proto::Hello hello;
  if (frame.header.kind != proto::KIND_HELLO || !hello.ParseFromString(frame.head)) {
    return break_off("the first frame is not a hello");
  }
  auto peer = check_hello(hello, *options_);
  if (!peer) {
    refused_ = true;
    return close(peer.error(), true);
  }
  if (!dialled_) enqueue_control(proto::KIND_HELLO, make_hello(*options_));
  peer_ = *peer;
  state_ = State::kUp;
  decoder_.trust();
  events_.push_back({LinkEvent::Type::kUp, 0, {}, {}, {}});
}

void Session::on_heartbeat(const InFrame& frame, TimePoint now) {
  proto::Heartbeat beat;
  if (!beat.ParseFromString(frame.head)) return break_off("unreadable heartbeat");
  if (beat.sent_us() != 0) {
    if (queued_frames_ >= kMaxQueuedFrames) return;  // it asks, but does not read
    proto::Heartbeat echo;
    echo.set_echo_us(beat.sent_us());
    return enqueue_control(proto::KIND_HEARTBEAT, echo);
  }
  uint64_t now_us = micros(now);
  if (beat.echo_us() == 0 || beat.echo_us() > now_us) return;
  double seconds = static_cast<double>(now_us - beat.echo_us()) * 1e-6;
  round_trip_s_ = round_trip_s_ == 0 ? seconds : 0.8 * round_trip_s_ + 0.2 * seconds;
}

void Session::on_reply(InFrame frame) {
  auto it = pending_.find(frame.header.request_id);
  if (it == pending_.end()) return;  // given up already
  uint64_t id = it->first;
  const bool fits =
      frame.header.kind == proto::KIND_ERROR ||
      frame.header.kind == reply_kind(static_cast<proto::MessageKind>(it->second.kind));
  pending_.erase(it);
  auto head = parse_head(frame);
  LinkEvent event{LinkEvent::Type::kReply, id, {}, {}, {}};
  if (!head || !fits) {
    ++malformed_mail_;
    event.type = LinkEvent::Type::kFailed;
    event.error = {ErrorCode::kInternal,
                   (fits ? "unreadable reply from " : "a reply of another kind from ") + peer_.name,
                   0};
  } else if (frame.header.kind == proto::KIND_ERROR) {
    event.type = LinkEvent::Type::kFailed;
    event.error = from_proto(static_cast<const proto::Error&>(*head));
  } else {
    event.mail = Mail{static_cast<proto::MessageKind>(frame.header.kind), std::move(head),
                      std::move(frame.body), milliseconds(frame.header.budget_ms)};
  }
  events_.push_back(std::move(event));
}

void Session::on_mail(InFrame frame) {
  if (queued_frames_ >= 2 * kMaxQueuedFrames) return break_off("it does not read what it asks for");
  uint64_t id = frame.header.flags == kRequest ? frame.header.request_id : 0;
  auto head = parse_head(frame);
  if (id != 0 && !serving_.insert(id).second) return break_off("a request id used twice");
  if (!head) {
    ++malformed_mail_;
    return reply(
        id, Error{ErrorCode::kInvalidArgument,
                  "unknown or unreadable message of kind " + std::to_string(frame.header.kind), 0});
  }
  if (serving_.size() > kMaxServing) {
    return reply(id, Error{ErrorCode::kOverloaded, "too many open requests on one link", 100});
  }
  Mail mail{static_cast<proto::MessageKind>(frame.header.kind), std::move(head),
            std::move(frame.body), milliseconds(frame.header.budget_ms)};
  events_.push_back({LinkEvent::Type::kMail, id, std::move(frame.actor), std::move(mail), {}});
}

// ---- sending ------------------------------------------------------------------------------------

Status Session::check_mail(const std::string& actor, const Mail& mail) const {
  if (state_ != State::kUp) return Error{ErrorCode::kLinkLost, "the link is not up", 0};
  if (!mail.head || actor.size() > kMaxActorBytes) {
    return Error{ErrorCode::kInvalidArgument, "mail without head or with too long an address", 0};
  }
  if (mail.head->ByteSizeLong() > options_->max_head_bytes ||
      mail.body.size() > options_->max_body_bytes) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string(kind_name(mail.kind)) + " exceeds max_head_bytes or max_body_bytes",
                 0};
  }
  uint64_t budget = options_->send_budget_bytes;
  bool full = !mail.body.empty() && queued_bytes_ > 0 &&
              (queued_bytes_ > budget || mail.body.size() > budget - queued_bytes_);
  if (full || queued_frames_ >= kMaxQueuedFrames) {
    return Error{ErrorCode::kOverloaded, "send queue to " + peer_.name + " is full", 100};
  }
  return {};
}

Result<uint64_t> Session::request(const std::string& actor, const Mail& mail, TimePoint now) {
  auto status = check_mail(actor, mail);
  if (!status) return status.error();
  uint64_t id = next_id_++;
  auto frame = make_frame(mail.kind, kRequest, id, mail.budget, actor, *mail.head, mail.body);
  TimePoint deadline = now + mail.budget;
  pending_[id] = {deadline, frame.header.traffic, frame.header.kind};
  deadlines_.emplace(deadline, id);
  last_mail_ = now;
  enqueue(std::move(frame));
  return id;
}

Status Session::send(const std::string& actor, const Mail& mail) {
  auto status = check_mail(actor, mail);
  if (!status) return status;
  enqueue(make_frame(mail.kind, kOneWay, 0, mail.budget, actor, *mail.head, mail.body));
  return {};
}

void Session::reply(uint64_t request_id, const Mail& mail) {
  if (serving_.count(request_id) == 0) return;
  auto status = check_mail({}, mail);
  if (!status) return reply(request_id, status.error());
  serving_.erase(request_id);
  enqueue(make_frame(mail.kind, kReply, request_id, milliseconds(0), {}, *mail.head, mail.body));
}

void Session::reply(uint64_t request_id, const Error& error) {
  if (serving_.erase(request_id) == 0 || state_ != State::kUp) return;
  auto short_error = error;
  short_error.detail.resize(std::min<size_t>(short_error.detail.size(), 1024));
  enqueue(make_frame(proto::KIND_ERROR, kReply, request_id, milliseconds(0), {},
                     to_proto(short_error), {}));
}

void Session::enqueue(OutFrame frame) {
  queued_bytes_ += frame.size();
  ++queued_frames_;
  sent_since_heartbeat_ = true;
  queues_[static_cast<size_t>(frame.header.traffic)].push_back(std::move(frame));
}

void Session::enqueue_control(proto::MessageKind kind, const google::protobuf::Message& head) {
  enqueue(make_frame(kind, kOneWay, 0, milliseconds(0), {}, head, {}));
}

bool Session::has_output() const { return queued_frames_ > 0; }

TrafficClass Session::next_traffic() const {
  size_t traffic = 0;
  while (traffic + 1 < kTrafficClasses && queues_[traffic].empty()) ++traffic;
  return static_cast<TrafficClass>(traffic);
}

bool Session::next_chunk(std::vector<char>& out, uint32_t max_bytes) {
  max_bytes = std::min(max_bytes, options_->max_chunk_bytes);
  for (size_t traffic = 0; traffic < kTrafficClasses; ++traffic) {
    auto& queue = queues_[traffic];
    if (queue.empty()) continue;
    uint64_t before = queue.front().sent;
    size_t size = out.size();
    bool last = append_chunk(queue.front(), max_bytes, out);
    bytes_sent_[traffic] += out.size() - size;
    queued_bytes_ -= queue.front().sent - before;
    if (last) {
      queue.pop_front();
      --queued_frames_;
    }
    return true;
  }
  return false;
}

bool Session::forget_queued(TrafficClass traffic, uint64_t request_id) {
  auto& queue = queues_[static_cast<size_t>(traffic)];
  auto it = std::find_if(queue.begin(), queue.end(), [&](const OutFrame& frame) {
    return frame.header.request_id == request_id && frame.header.flags == kRequest;
  });
  if (it == queue.end() || it->started()) return false;
  queued_bytes_ -= it->size();
  --queued_frames_;
  queue.erase(it);
  return true;
}

// ---- time and end -------------------------------------------------------------------------------

void Session::expire(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    uint64_t id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    auto it = pending_.find(id);
    if (it == pending_.end()) continue;
    auto traffic = it->second.traffic;
    pending_.erase(it);
    if (!forget_queued(traffic, id)) {
      proto::CancelRequest cancel;
      cancel.set_request_id(id);
      enqueue_control(proto::KIND_CANCEL_REQUEST, cancel);
    }
    events_.push_back({LinkEvent::Type::kFailed,
                       id,
                       {},
                       {},
                       {ErrorCode::kPeerTimeout, "no answer from " + peer_.name + " in time", 0}});
  }
}

void Session::tick(TimePoint now) {
  if (state_ == State::kClosed) return;
  if (state_ == State::kHello) {
    if (now - created_ > options_->dial_timeout) {
      close({ErrorCode::kPeerTimeout, "no hello within dial_timeout", 0}, !dialled_);
    }
    return;
  }
  expire(now);
  if (!paused_ && now - heard_ > options_->silence_limit) {
    return close({ErrorCode::kLinkLost, peer_.name + " has been silent for too long", 0}, false);
  }
  if (now >= next_heartbeat_) heartbeat(now);
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
  return now >= next_heartbeat_ || (!deadlines_.empty() && deadlines_.begin()->first <= now) ||
         now - heard_ > options_->silence_limit;
}

/// A swarm has a link between any two nodes: what is said on idle links is most of what is said.
void Session::heartbeat(TimePoint now) {
  const bool probe = now >= next_probe_;
  if (probe || !sent_since_heartbeat_) {
    proto::Heartbeat beat;
    if (probe) beat.set_sent_us(micros(now));
    enqueue_control(proto::KIND_HEARTBEAT, beat);
  }
  if (probe) next_probe_ = now + kProbeEvery;
  sent_since_heartbeat_ = false;
  next_heartbeat_ = now + options_->heartbeat_every;
}

void Session::close(const Error& reason, bool tell) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  reason_ = reason;
  Error lost = reason;
  if (lost.code != ErrorCode::kRefused && lost.code != ErrorCode::kPeerTimeout) {
    lost.code = ErrorCode::kLinkLost;
  }
  for (const auto& entry : pending_) {
    events_.push_back({LinkEvent::Type::kFailed, entry.first, {}, {}, lost});
  }
  pending_.clear();
  deadlines_.clear();
  serving_.clear();
  held_back_.clear();
  paused_ = false;
  // A frame of the control class that is half sent must end before the farewell.
  bool half = !queues_[0].empty() && queues_[0].front().started();
  for (auto& queue : queues_) queue.clear();
  queued_bytes_ = 0;
  queued_frames_ = 0;
  if (tell && !half) {
    auto short_reason = reason;
    short_reason.detail.resize(std::min<size_t>(short_reason.detail.size(), 1024));
    enqueue_control(proto::KIND_ERROR, to_proto(short_reason));
  }
}

std::vector<LinkEvent> Session::take_events() {
  std::vector<LinkEvent> events;
  events.swap(events_);
  return events;
}

bool Session::idle_since(TimePoint since) const {
  return pending_.empty() && serving_.empty() && queued_frames_ == 0 && last_mail_ <= since;
}

LinkStats Session::stats(TimePoint now) const {
  LinkStats stats;
  stats.node = peer_;
  stats.bytes_sent = bytes_sent_;
  stats.bytes_received = decoder_.bytes();
  stats.queued_bytes = queued_bytes_;
  stats.pending_requests = static_cast<uint32_t>(pending_.size());
  stats.round_trip_s = round_trip_s_;
  stats.up_s = std::chrono::duration<double>(now - created_).count();
  return stats;
}

}  // namespace swarm::actors::links
