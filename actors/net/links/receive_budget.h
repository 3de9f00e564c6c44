/// How many bytes of messages a node may hold at once: those being received and those that actors have
/// neither let go nor taken over. They count as they arrive. Shared by all links of a node; thread-safe, because
/// the last owner of a body may be any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/buffer.h"

namespace swarm::actors::links {

class ReceiveBudget;

/// What one message takes of a budget: its body as far as there is memory for it, and its head. Grown by
/// its link, thread-safe from then on.
class ReceiveHold {
 public:
  explicit ReceiveHold(std::shared_ptr<ReceiveBudget> budget) : budget_(std::move(budget)) {}
  ~ReceiveHold();
  ReceiveHold(const ReceiveHold&) = delete;
  ReceiveHold& operator=(const ReceiveHold&) = delete;

  /// Its body takes `size_bytes` from now on. False: there is no room now. `force` always passes; so does
  /// one of all bodies that have begun, until arrived(): or they would wait for one another. So what is not all
  /// here is past the limit by one body at most; what is, and is not let go, may be beyond that.
  bool grow(uint64_t size_bytes, bool force);
  /// The body is all here, or no more of it will come.
  void arrived();
  /// The head takes `size_bytes`, until the end. False: heads take more than is meant for them.
  bool add_head(uint64_t size_bytes);
  /// The same of a message that is not all here: those have half of what is meant for heads.
  bool add_half_head(uint64_t size_bytes);
  /// The message is all here.
  void whole();
  /// Of the body; the first call counts.
  void give_back();

 private:
  uint64_t size_ = 0, head_ = 0, half_ = 0;
  const std::shared_ptr<ReceiveBudget> budget_;  // shared by the node's links
  std::atomic<bool> given_back_{false};
};

class ReceiveBudget : public std::enable_shared_from_this<ReceiveBudget> {
 public:
  /// A body's memory: so much at first, each time so much more as it has filled what it has. What a few
  /// bytes can take is bounded by it; what is copied on the way is a seventh.
  static constexpr uint64_t kFirstBytes = 256u << 10, kGrowth = 8;
  /// Heads that wait in mailboxes or are half received, beside the bodies: a quarter of those, at least.
  /// Half of it is for mail that is all here, whatever is half received.
  static constexpr uint64_t kLeastHeads = 64u << 20, kHeadShare = 4;

  /// `on_released` is called, from any thread, when bytes come back after a refused take().
  ReceiveBudget(uint64_t limit_bytes, std::function<void()> on_released)
      : limit_(limit_bytes), on_released_(std::move(on_released)) {}

  /// Memory for one body; gives its bytes back when the last reference goes, at the latest.
  class Body {
   public:
    Body(MutableBuffer memory, std::shared_ptr<ReceiveHold> hold)
        : memory_(std::move(memory)), hold_(std::move(hold)) {}
    ~Body() { hold_->give_back(); }
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    /// Has more memory from now on, for `whole_bytes` at most. Requires that it is full. False: no room now.
    /// Throws std::bad_alloc.
    bool grow(uint64_t whole_bytes, bool force);
    uint8_t* data() const { return memory_.data(); }
    size_t size() const { return memory_.size(); }
    const std::shared_ptr<ReceiveHold>& hold() const { return hold_; }

   private:
    MutableBuffer memory_;
    std::shared_ptr<ReceiveHold> hold_;  // shared with the Mail that the body belongs to
  };

  /// The first memory for a body of `whole_bytes`, which `hold` counts if given. Null when the budget is
  /// used up. A body larger than the whole budget passes when nothing else is held. `force` always passes.
  /// Throws std::bad_alloc.
  std::shared_ptr<Body> take(uint64_t whole_bytes, bool force,
                             std::shared_ptr<ReceiveHold> hold = nullptr);

  uint64_t used_bytes() const { return used_.load(); }
  uint64_t head_bytes() const { return heads_.load(); }
  /// Since somebody was refused nothing has come back.
  bool somebody_waits() const { return waiting_.load(); }

 private:
  friend class ReceiveHold;
  /// Of one that has `held_bytes` already.
  bool reserve(uint64_t more_bytes, uint64_t held_bytes, bool force);
  void release(uint64_t size_bytes);
  void wake();
  uint64_t most_heads() const { return std::max(kLeastHeads, limit_ / kHeadShare); }

  const uint64_t limit_;
  const std::function<void()> on_released_;
  std::atomic<uint64_t> used_{0}, heads_{0}, half_heads_{0};
  std::atomic<bool> waiting_{false};
  std::atomic<const ReceiveHold*> ahead_{nullptr};  // goes on past the limit
};

}  // namespace swarm::actors::links
