/// The bytes of a link: frames, cut into chunks (docs/protocol.md is the specification).
///
///   stream  = { chunk }
///   chunk   = marker, flags, class, 0, length (u32)          8 bytes, then `length` bytes
///   frame   = header (40 bytes), actor name, head, body tag and length, body
///
/// Chunks of frames of different classes may alternate; within one class frames follow one another.
/// Pure: bytes in, frames out. No clocks, sockets or actors. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/net/links/links.h"
#include "actors/net/links/receive_budget.h"
#include "common/buffer.h"

namespace swarm::actors::links {

constexpr uint8_t kProtocolVersion = 3;
constexpr uint32_t kFrameMagic = 0x4d525753;  // "SWRM"
constexpr uint8_t kChunkMarker = 0xC5;
constexpr size_t kChunkHeaderBytes = 8;
constexpr size_t kFrameHeaderBytes = 40;
constexpr uint8_t kChunkFirst = 1;
constexpr uint8_t kChunkLast = 2;
constexpr uint8_t kChunkBroken = 4;  ///< No more of this frame follows; without bytes.
constexpr size_t kMaxActorBytes = 255;
/// A side that has not said a valid hello may send heads of this size and no body.
constexpr uint32_t kMaxStrangerHeadBytes = 4096;
/// Control mail with a larger body travels as state: it must not hold up control.
constexpr size_t kMaxControlBody = 64u << 10;

enum FrameFlags : uint8_t {
  kOneWay = 0,   ///< Mail without answer.
  kRequest = 1,  ///< request_id != 0; answered by a frame with kReply and the same id.
  kReply = 2,    ///< KIND_ERROR: the request failed.
};

struct FrameHeader {
  TrafficClass traffic = TrafficClass::kControl;
  uint16_t kind = 0;
  uint8_t flags = kOneWay;
  uint8_t actor_bytes = 0;
  uint16_t tag_bytes = 0;  ///< Tag and length of the body field; 0 exactly when there is no body.
  uint32_t budget_ms = 0;
  uint64_t request_id = 0;
  uint32_t head_bytes = 0;
  uint64_t body_bytes = 0;
};

/// A frame on its way out. The body is not copied before it goes into a chunk.
struct OutFrame {
  FrameHeader header;
  std::string front;  ///< Everything before the body, header included.
  Buffer body;
  uint64_t sent = 0;
  bool broken = false;  ///< Given up half-way: all that is left is to say so.

  uint64_t size() const { return front.size() + body.size(); }
  bool started() const { return sent > 0; }
  uint64_t left() const { return broken ? 0 : size() - sent; }
};

/// The class that mail of this kind with such a body travels in.
TrafficClass frame_traffic(proto::MessageKind kind, uint64_t body_bytes);
/// OutFrame::size() of the frame that make_frame() makes of parts of these sizes.
uint64_t frame_bytes(uint64_t actor_bytes, uint64_t head_bytes, uint64_t body_bytes);

/// Requires actor.size() <= kMaxActorBytes and flags/request_id as in FrameFlags. `head` is the
/// message without its payload field.
OutFrame make_frame(proto::MessageKind kind, uint8_t flags, uint64_t request_id,
                    std::chrono::milliseconds budget, const std::string& actor,
                    const google::protobuf::Message& head, Buffer body);

/// Appends the next chunk of `frame` (at most max_chunk_bytes of it, plus the chunk header) to
/// `out`. True when it was the last; of a broken frame it is the only one.
bool append_chunk(OutFrame& frame, uint32_t max_chunk_bytes, std::vector<char>& out);

struct InFrame {
  FrameHeader header;
  std::string actor;
  std::string head;  ///< Serialized protobuf, payload field absent.
  Buffer body;
  std::shared_ptr<ReceiveHold> hold;  ///< What it takes of the budget.
  bool skipped = false;               ///< It has a body, which was not received: BodyRule::kSkip.
};

/// What becomes of a frame's body, asked when its first byte is there.
enum class BodyRule : uint8_t {
  kWait,  ///< It is received when the receive budget has room for it.
  kTake,  ///< It is received in any case.
  kSkip,  ///< Its bytes are dropped as they come; the frame is complete at once, without it.
};
/// Must be given again with the same answer, or another one, while a body waits.
using BodyRules = std::function<BodyRule(const FrameHeader&, const std::string& actor)>;

struct FrameLimits {
  uint32_t max_chunk_bytes = 256u << 10;
  uint32_t max_head_bytes = 1u << 20;
  uint64_t max_body_bytes = 1ull << 30;
  /// Of a kind, given max_head_bytes; null: that.
  uint32_t (*head_limit)(uint32_t kind, uint32_t most) = nullptr;
};

class FrameDecoder {
 public:
  enum class Outcome {
    kMore,        ///< All bytes used; no frame complete yet.
    kFrame,       ///< frame() is complete; call again with the rest.
    kNeedBudget,  ///< A body does not fit the budget; call again with the rest when it may.
    kVersion,     ///< The other side speaks another protocol version; error() says which.
    kMalformed,   ///< Not our protocol, or a limit is broken; error() says what. Stop.
  };

  /// Without `rules` every body waits for room.
  FrameDecoder(FrameLimits limits, std::shared_ptr<ReceiveBudget> budget, BodyRules rules = {})
      : limits_(limits), budget_(std::move(budget)), rules_(std::move(rules)) {}

  /// Lifts the limits for strangers, after a valid hello. `proven`: it has the run's key, so its heads are
  /// received however many there are.
  void trust(bool proven = false) {
    trusted_ = true;
    proven_ = proven;
  }

  /// Reads from [data, data + size), sets `used` to how many bytes were taken.
  Outcome feed(const uint8_t* data, size_t size, size_t& used);

  InFrame& frame() { return frame_; }
  const std::string& error() const { return error_; }
  /// A body is under way: large reads pay.
  bool expects_body() const { return bodies_ > 0; }
  /// ... of mail of this kind.
  bool expects_body_of(proto::MessageKind kind) const;
  /// A body is half here, has its room in the budget, and others wait for room.
  bool keeps_others_waiting() const;
  /// All bytes taken so far, by the class of their chunk.
  const std::array<uint64_t, kTrafficClasses>& bytes() const { return bytes_; }
  uint64_t frames() const { return frames_; }  ///< All that came to their end.

 private:
  struct Lane {
    bool active = false;
    bool parsed = false;
    FrameHeader header;
    std::string front;  // header, then name, head and tag
    std::shared_ptr<ReceiveHold> hold;
    std::shared_ptr<ReceiveBudget::Body> body;
    uint64_t body_got = 0;
    bool forced = false;  // the body needs no room
    bool skipped = false;
  };

  Outcome fail(std::string why);
  Outcome begin_chunk();
  Outcome feed_front(Lane& lane, const uint8_t* data, size_t size, size_t& used);
  Outcome check_header(Lane& lane);
  void break_lane(Lane& lane);
  Outcome begin_body(Lane& lane);
  Outcome more_memory(Lane& lane, bool force);
  Outcome feed_body(Lane& lane, const uint8_t* data, size_t size, size_t& used);
  void take_front(const Lane& lane);
  bool complete(const Lane& lane) const;
  Outcome finish(Lane& lane);

  FrameLimits limits_;
  std::shared_ptr<ReceiveBudget> budget_;  // shared by the node's links
  BodyRules rules_;
  bool trusted_ = false, proven_ = false;
  std::array<uint8_t, kChunkHeaderBytes> chunk_header_{};
  size_t chunk_header_got_ = 0;
  uint32_t chunk_left_ = 0;
  bool chunk_last_ = false;
  TrafficClass traffic_ = TrafficClass::kControl;
  std::array<Lane, kTrafficClasses> lanes_;
  int bodies_ = 0;
  std::array<uint64_t, kTrafficClasses> bytes_{};
  uint64_t frames_ = 0;
  InFrame frame_;
  std::string error_;
};

}  // namespace swarm::actors::links
