/// How many bytes of message bodies a node may hold at once: those being received and those that
/// actors have neither let go nor taken over. Shared by all links of a node; thread-safe, because
/// the last owner of a body may be any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/buffer.h"

namespace swarm::actors::links {

class ReceiveBudget;

/// Bytes of a budget in use. Thread-safe.
class ReceiveHold {
 public:
  ReceiveHold(uint64_t size_bytes, std::shared_ptr<ReceiveBudget> budget)
      : size_(size_bytes), budget_(std::move(budget)) {}
  ~ReceiveHold() { give_back(); }
  ReceiveHold(const ReceiveHold&) = delete;
  ReceiveHold& operator=(const ReceiveHold&) = delete;
  /// The first call counts.
  void give_back();

 private:
  const uint64_t size_;
  const std::shared_ptr<ReceiveBudget> budget_;  // shared by the node's links
  std::atomic<bool> given_back_{false};
};

class ReceiveBudget : public std::enable_shared_from_this<ReceiveBudget> {
 public:
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
    uint8_t* data() const { return memory_.data(); }
    size_t size() const { return memory_.size(); }
    const std::shared_ptr<ReceiveHold>& hold() const { return hold_; }

   private:
    MutableBuffer memory_;
    std::shared_ptr<ReceiveHold> hold_;  // shared with the Mail that the body belongs to
  };

  /// Null when the budget is used up. A body larger than the whole budget passes when nothing else
  /// is held. `force` always passes. Throws std::bad_alloc.
  std::shared_ptr<Body> take(uint64_t size_bytes, bool force);

  uint64_t used_bytes() const { return used_.load(); }
  /// Since somebody was refused nothing has come back.
  bool somebody_waits() const { return waiting_.load(); }

 private:
  friend class ReceiveHold;
  void release(uint64_t size_bytes);

  const uint64_t limit_;
  const std::function<void()> on_released_;
  std::atomic<uint64_t> used_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace swarm::actors::links
