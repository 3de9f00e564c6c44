/// Frames of one link on their way out: a line for each class, cut into chunks, the most urgent
/// class first, but for the share that states have. Pure; one owner.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "actors/net/links/frame.h"
#include "actors/net/state_share.h"
#include "actors/net/traffic.h"

namespace swarm::actors::links {

class SendQueue {
 public:
  explicit SendQueue(double join_share = kJoinShare) : share_(join_share) {}

  void push(OutFrame frame);

  /// Appends the next chunk to `out`, of `max_bytes` at most (its header not counted); false when
  /// nothing is queued.
  bool next_chunk(std::vector<char>& out, uint32_t max_bytes);
  bool empty() const { return frames_ == 0; }
  /// The class of the next chunk. Requires !empty().
  TrafficClass next_traffic() const;
  /// Of one of the classes mail of this kind is next.
  bool holds(proto::MessageKind kind) const;

  /// Drops the frame of own request `id`, or what has not left of it: the other side is told that no
  /// more comes. False when all of it has left.
  bool forget_request(TrafficClass traffic, uint64_t id);
  /// Drops everything. True: half of a control frame has left, so no other may follow it.
  bool clear();

  size_t frames() const { return frames_; }
  uint64_t bytes() const { return bytes_; }              ///< Not yet sent, heads included.
  uint64_t bytes(proto::MessageKind kind) const;         ///< Of mail of one kind.
  uint64_t reply_bytes() const;                          ///< Of replies that have a body.
  uint64_t pushed() const { return pushed_; }            ///< Frames since the beginning.
  uint64_t frames_sent() const { return frames_sent_; }  ///< To their end, or given up half-way.
  /// Since the beginning, chunk headers included.
  const std::array<uint64_t, kTrafficClasses>& sent() const { return sent_; }

 private:
  bool waits(TrafficClass traffic) const { return !queues_[static_cast<size_t>(traffic)].empty(); }
  /// States and another class wait.
  bool both_wait() const;

  StateShare share_;
  std::array<std::deque<OutFrame>, kTrafficClasses> queues_;
  uint64_t bytes_ = 0;
  size_t frames_ = 0;
  uint64_t pushed_ = 0, frames_sent_ = 0;
  std::array<uint64_t, kTrafficClasses> sent_{};
};

}  // namespace swarm::actors::links
