#include "actors/net/links/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/check.h"

namespace swarm::actors::links {
namespace {

using Outcome = FrameDecoder::Outcome;

template <class T>
void put(char*& at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) *at++ = static_cast<char>((value >> (8 * i)) & 0xff);
}

template <class T>
T get(const uint8_t*& at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | (T{*at++} << (8 * i)));
  return value;
}

/// Tag of field 15, wire type 2, and the length as a varint: what precedes a body.
std::string body_tag(uint64_t body_bytes) {
  if (body_bytes == 0) return {};
  std::string tag(1, static_cast<char>((15 << 3) | 2));
  do {
    uint8_t low = body_bytes & 0x7f;
    body_bytes >>= 7;
    tag.push_back(static_cast<char>(body_bytes > 0 ? low | 0x80 : low));
  } while (body_bytes > 0);
  return tag;
}

void write_header(const FrameHeader& header, char* at) {
  put<uint32_t>(at, kFrameMagic);
  put<uint8_t>(at, kProtocolVersion);
  put<uint8_t>(at, static_cast<uint8_t>(header.traffic));
  put<uint16_t>(at, header.kind);
  put<uint8_t>(at, header.flags);
  put<uint8_t>(at, header.actor_bytes);
  put<uint16_t>(at, header.tag_bytes);
  put<uint32_t>(at, header.budget_ms);
  put<uint64_t>(at, header.request_id);
  put<uint32_t>(at, header.head_bytes);
  put<uint32_t>(at, 0);
  put<uint64_t>(at, header.body_bytes);
}

void append_chunk_header(uint8_t flags, TrafficClass traffic, uint32_t length,
                         std::vector<char>& out) {
  char header[kChunkHeaderBytes];
  char* at = header;
  put<uint8_t>(at, kChunkMarker);
  put<uint8_t>(at, flags);
  put<uint8_t>(at, static_cast<uint8_t>(traffic));
  put<uint8_t>(at, 0);
  put<uint32_t>(at, length);
  out.insert(out.end(), header, header + kChunkHeaderBytes);
}

size_t front_size(const FrameHeader& header) {
  return kFrameHeaderBytes + header.actor_bytes + header.head_bytes + header.tag_bytes;
}

}  // namespace

TrafficClass frame_traffic(proto::MessageKind kind, uint64_t body_bytes) {
  const TrafficClass traffic = traffic_class(kind);
  const bool holds_up = traffic == TrafficClass::kControl && body_bytes > kMaxControlBody;
  return holds_up ? TrafficClass::kState : traffic;
}

uint64_t frame_bytes(uint64_t actor_bytes, uint64_t head_bytes, uint64_t body_bytes) {
  return kFrameHeaderBytes + actor_bytes + head_bytes + body_tag(body_bytes).size() + body_bytes;
}

OutFrame make_frame(proto::MessageKind kind, uint8_t flags, uint64_t request_id,
                    std::chrono::milliseconds budget, const std::string& actor,
                    const google::protobuf::Message& head, Buffer body) {
  SWARM_CHECK(actor.size() <= kMaxActorBytes);
  OutFrame frame;
  std::string tag = body_tag(body.size());
  size_t head_bytes = head.ByteSizeLong();
  auto& header = frame.header;
  header.traffic = frame_traffic(kind, body.size());
  header.kind = static_cast<uint16_t>(kind);
  header.flags = flags;
  header.actor_bytes = static_cast<uint8_t>(actor.size());
  header.tag_bytes = static_cast<uint16_t>(tag.size());
  header.budget_ms = static_cast<uint32_t>(std::clamp<int64_t>(budget.count(), 0, UINT32_MAX));
  header.request_id = request_id;
  header.head_bytes = static_cast<uint32_t>(head_bytes);
  header.body_bytes = body.size();
  frame.front.resize(front_size(header));
  char* at = frame.front.data();
  write_header(header, at);
  at += kFrameHeaderBytes;
  at = std::copy(actor.begin(), actor.end(), at);
  head.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(at));
  std::copy(tag.begin(), tag.end(), at + head_bytes);
  frame.body = std::move(body);
  return frame;
}

bool append_chunk(OutFrame& frame, uint32_t max_chunk_bytes, std::vector<char>& out) {
  if (frame.broken) {
    append_chunk_header(kChunkBroken, frame.header.traffic, 0, out);
    return true;
  }
  uint64_t left = frame.size() - frame.sent;
  auto length = static_cast<uint32_t>(std::min<uint64_t>(left, max_chunk_bytes));
  bool last = length == left;
  append_chunk_header(
      static_cast<uint8_t>((frame.sent == 0 ? kChunkFirst : 0) | (last ? kChunkLast : 0)),
      frame.header.traffic, length, out);
  while (length > 0) {
    bool in_front = frame.sent < frame.front.size();
    const char* from = in_front ? frame.front.data() + frame.sent
                                : reinterpret_cast<const char*>(frame.body.data()) +
                                      (frame.sent - frame.front.size());
    uint64_t part = std::min<uint64_t>(length, in_front ? frame.front.size() - frame.sent : length);
    out.insert(out.end(), from, from + part);
    frame.sent += part;
    length -= static_cast<uint32_t>(part);
  }
  return last;
}

Outcome FrameDecoder::fail(std::string why) {
  error_ = std::move(why);
  return Outcome::kMalformed;
}

Outcome FrameDecoder::begin_chunk() {
  const uint8_t* at = chunk_header_.data();
  auto marker = get<uint8_t>(at);
  auto flags = get<uint8_t>(at);
  auto traffic = get<uint8_t>(at);
  auto zero = get<uint8_t>(at);
  auto length = get<uint32_t>(at);
  if (marker != kChunkMarker) return fail("not a chunk of the swarm protocol");
  if (traffic >= kTrafficClasses) return fail("unknown traffic class");
  const bool broken = flags == kChunkBroken;
  if (zero != 0 || (!broken && (flags & ~(kChunkFirst | kChunkLast)) != 0))
    return fail("unknown chunk flags");
  if (broken != (length == 0) || length > limits_.max_chunk_bytes)
    return fail("chunk length out of range");
  if (!trusted_ && traffic != 0) return fail("only control traffic may come before hello");
  traffic_ = static_cast<TrafficClass>(traffic);
  bytes_[traffic] += kChunkHeaderBytes;
  Lane& lane = lanes_[traffic];
  if (broken) {
    if (!lane.active) return fail("the end of a frame that has not begun");
    break_lane(lane);
    return Outcome::kMore;
  }
  bool first = (flags & kChunkFirst) != 0;
  if (first == lane.active) return fail("chunk does not continue its frame");
  if (first) {
    lane = Lane{};
    lane.active = true;
  }
  chunk_left_ = length;
  chunk_last_ = (flags & kChunkLast) != 0;
  return Outcome::kMore;
}

Outcome FrameDecoder::check_header(Lane& lane) {
  const auto* at = reinterpret_cast<const uint8_t*>(lane.front.data());
  if (get<uint32_t>(at) != kFrameMagic) return fail("frame does not start with SWRM");
  auto version = get<uint8_t>(at);
  if (version != kProtocolVersion) {
    error_ = fmt::format("protocol version {} met {}; run the same release everywhere", version,
                         kProtocolVersion);
    return Outcome::kVersion;
  }
  auto& header = lane.header;
  if (get<uint8_t>(at) != static_cast<uint8_t>(traffic_)) return fail("frame of another class");
  header.traffic = traffic_;
  header.kind = get<uint16_t>(at);
  header.flags = get<uint8_t>(at);
  header.actor_bytes = get<uint8_t>(at);
  header.tag_bytes = get<uint16_t>(at);
  header.budget_ms = get<uint32_t>(at);
  header.request_id = get<uint64_t>(at);
  header.head_bytes = get<uint32_t>(at);
  if (get<uint32_t>(at) != 0) return fail("reserved field is not zero");
  header.body_bytes = get<uint64_t>(at);
  if (header.flags > kReply) return fail("unknown frame flags");
  if (header.flags != kOneWay && header.request_id == 0) return fail("request without an id");
  uint32_t max_head =
      trusted_ ? limits_.max_head_bytes : std::min(limits_.max_head_bytes, kMaxStrangerHeadBytes);
  if (limits_.head_limit != nullptr) max_head = limits_.head_limit(header.kind, max_head);
  if (header.head_bytes > max_head) return fail("head is longer than allowed");
  if (header.body_bytes > (trusted_ ? limits_.max_body_bytes : 0)) {
    return fail("body is longer than allowed");
  }
  if (header.tag_bytes != body_tag(header.body_bytes).size()) return fail("wrong body tag length");
  lane.parsed = true;
  lane.hold = std::make_shared<ReceiveHold>(budget_);
  if (header.body_bytes > 0) ++bodies_;
  return Outcome::kMore;
}

/// Takes bytes up to the end of what precedes the body. The string grows with what arrives, and counts
/// from where it is longer than most.
Outcome FrameDecoder::feed_front(Lane& lane, const uint8_t* data, size_t size, size_t& used) {
  size_t want = lane.parsed ? front_size(lane.header) : kFrameHeaderBytes;
  size_t part = std::min(want - lane.front.size(), size);
  lane.front.append(reinterpret_cast<const char*>(data), part);
  used += part;
  chunk_left_ -= static_cast<uint32_t>(part);
  if (lane.front.size() > kMaxStrangerHeadBytes && !lane.hold->add_half_head(part) && !proven_)
    return fail("no room for another long head");
  if (!lane.parsed && lane.front.size() == kFrameHeaderBytes) return check_header(lane);
  return Outcome::kMore;
}

bool FrameDecoder::expects_body_of(proto::MessageKind kind) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [kind](const Lane& lane) {
    return lane.parsed && lane.header.kind == kind && lane.header.body_bytes > 0;
  });
}

bool FrameDecoder::keeps_others_waiting() const {
  return budget_->somebody_waits() &&
         std::any_of(lanes_.begin(), lanes_.end(),
                     [](const Lane& lane) { return lane.body != nullptr; });
}

bool FrameDecoder::complete(const Lane& lane) const {
  return lane.parsed && lane.front.size() == front_size(lane.header) &&
         lane.body_got == lane.header.body_bytes;
}

/// Forgets a frame, whole or not.
void FrameDecoder::break_lane(Lane& lane) {
  if (lane.parsed && lane.header.body_bytes > 0) --bodies_;
  lane = Lane{};
}

/// Everything but the body goes into frame_.
void FrameDecoder::take_front(const Lane& lane) {
  const auto& header = lane.header;
  const size_t at = kFrameHeaderBytes;
  frame_.header = header;
  frame_.actor = lane.front.substr(at, header.actor_bytes);
  frame_.head = lane.front.substr(at + header.actor_bytes, header.head_bytes);
  frame_.body = {};
  frame_.hold = lane.hold;
  lane.hold->whole();
  frame_.skipped = lane.skipped;
}

Outcome FrameDecoder::finish(Lane& lane) {
  if (chunk_left_ > 0 || !chunk_last_) return fail("frame is shorter than its chunks");
  const auto& header = lane.header;
  std::string tag = lane.front.substr(kFrameHeaderBytes + header.actor_bytes + header.head_bytes);
  if (tag != body_tag(header.body_bytes)) return fail("wrong body tag");
  const bool known_already = lane.skipped;
  if (!known_already) take_front(lane);
  if (lane.body) {
    lane.hold->arrived();
    const uint8_t* data = lane.body->data();
    frame_.body = Buffer(std::move(lane.body), data, header.body_bytes);
  }
  break_lane(lane);
  ++frames_;
  return known_already ? Outcome::kMore : Outcome::kFrame;
}

/// The body's first memory is taken here, when its first byte arrives.
Outcome FrameDecoder::begin_body(Lane& lane) {
  const auto& header = lane.header;
  const std::string actor = lane.front.substr(kFrameHeaderBytes, header.actor_bytes);
  const BodyRule rule = rules_ ? rules_(header, actor) : BodyRule::kWait;
  if (rule == BodyRule::kSkip) {
    lane.skipped = true;
    take_front(lane);
    return Outcome::kFrame;
  }
  return more_memory(lane, rule == BodyRule::kTake);
}

Outcome FrameDecoder::more_memory(Lane& lane, bool force) {
  // Half a body of another class must come to its end, or the link would wait for itself.
  force = force || std::any_of(lanes_.begin(), lanes_.end(), [&lane](const Lane& other) {
            return &other != &lane && other.body != nullptr;
          });
  const uint64_t whole = lane.header.body_bytes;
  try {
    if (lane.body) return lane.body->grow(whole, force) ? Outcome::kMore : Outcome::kNeedBudget;
    lane.body = budget_->take(whole, force, lane.hold);
  } catch (const std::bad_alloc&) {
    return fail(fmt::format("no memory for a body of {} bytes; lower max_body_bytes", whole));
  }
  lane.forced = force;
  return lane.body ? Outcome::kMore : Outcome::kNeedBudget;
}

Outcome FrameDecoder::feed_body(Lane& lane, const uint8_t* data, size_t size, size_t& used) {
  auto has_memory = Outcome::kMore;
  if (!lane.body && !lane.skipped) has_memory = begin_body(lane);
  if (lane.body && lane.body_got == lane.body->size()) has_memory = more_memory(lane, lane.forced);
  if (has_memory != Outcome::kMore) return has_memory;
  const uint64_t room = lane.body ? lane.body->size() : lane.header.body_bytes;
  size_t part = std::min<uint64_t>(size, room - lane.body_got);
  if (lane.body) std::memcpy(lane.body->data() + lane.body_got, data, part);
  lane.body_got += part;
  used += part;
  chunk_left_ -= static_cast<uint32_t>(part);
  return Outcome::kMore;
}

Outcome FrameDecoder::feed(const uint8_t* data, size_t size, size_t& used) {
  used = 0;
  while (used < size) {
    if (chunk_left_ == 0) {
      size_t part = std::min(kChunkHeaderBytes - chunk_header_got_, size - used);
      std::memcpy(chunk_header_.data() + chunk_header_got_, data + used, part);
      used += part;
      chunk_header_got_ += part;
      if (chunk_header_got_ < kChunkHeaderBytes) return Outcome::kMore;
      chunk_header_got_ = 0;
      if (auto outcome = begin_chunk(); outcome != Outcome::kMore) return outcome;
      continue;
    }
    Lane& lane = lanes_[static_cast<size_t>(traffic_)];
    size_t room = std::min<size_t>(chunk_left_, size - used);
    size_t before = used;
    auto outcome = Outcome::kMore;
    if (!lane.parsed || lane.front.size() < front_size(lane.header)) {
      outcome = feed_front(lane, data + used, room, used);
    } else if (lane.body_got < lane.header.body_bytes) {
      outcome = feed_body(lane, data + used, room, used);
    } else {
      return fail("frame is longer than its header says");
    }
    bytes_[static_cast<size_t>(traffic_)] += used - before;
    if (outcome != Outcome::kMore) return outcome;
    if (complete(lane)) {
      outcome = finish(lane);
      if (outcome != Outcome::kMore) return outcome;
      continue;
    }
    if (chunk_left_ == 0 && chunk_last_) return fail("frame ends too early");
  }
  return Outcome::kMore;
}

}  // namespace swarm::actors::links
