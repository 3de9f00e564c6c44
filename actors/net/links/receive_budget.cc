#include "actors/net/links/receive_budget.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace swarm::actors::links {

// ---- hold ---------------------------------------------------------------------------------------

ReceiveHold::~ReceiveHold() {
  give_back();
  whole();
  budget_->heads_.fetch_sub(head_);
}

bool ReceiveHold::grow(uint64_t size_bytes, bool force) {
  auto& ahead = budget_->ahead_;
  const ReceiveHold* nobody = nullptr;
  bool fits = budget_->reserve(size_bytes - size_, size_, force || ahead.load() == this);
  if (!fits && size_ > 0 && ahead.compare_exchange_strong(nobody, this))
    fits = budget_->reserve(size_bytes - size_, size_, true);
  if (fits) size_ = size_bytes;
  return fits;
}

void ReceiveHold::arrived() {
  const ReceiveHold* own = this;
  if (budget_->ahead_.compare_exchange_strong(own, nullptr)) budget_->wake();
}

bool ReceiveHold::add_head(uint64_t size_bytes) {
  head_ += size_bytes;
  return budget_->heads_.fetch_add(size_bytes) + size_bytes <= budget_->most_heads();
}

bool ReceiveHold::add_half_head(uint64_t size_bytes) {
  half_ += size_bytes;
  const uint64_t half = budget_->half_heads_.fetch_add(size_bytes) + size_bytes;
  return add_head(size_bytes) && half <= budget_->most_heads() / 2;
}

void ReceiveHold::whole() { budget_->half_heads_.fetch_sub(std::exchange(half_, 0)); }

void ReceiveHold::give_back() {
  if (given_back_.exchange(true)) return;
  arrived();
  if (size_ > 0) budget_->release(size_);
}

// ---- budget -------------------------------------------------------------------------------------

bool ReceiveBudget::Body::grow(uint64_t whole_bytes, bool force) {
  const uint64_t size = std::min(whole_bytes, kGrowth * memory_.size());
  if (!hold_->grow(size, force)) return false;
  auto memory = MutableBuffer::allocate(size);
  std::memcpy(memory.data(), memory_.data(), memory_.size());
  memory_ = std::move(memory);
  return true;
}

std::shared_ptr<ReceiveBudget::Body> ReceiveBudget::take(uint64_t whole_bytes, bool force,
                                                         std::shared_ptr<ReceiveHold> hold) {
  const uint64_t size = std::min(whole_bytes, kFirstBytes);
  if (!hold) hold = std::make_shared<ReceiveHold>(shared_from_this());
  if (!hold->grow(size, force)) return nullptr;
  return std::make_shared<Body>(MutableBuffer::allocate(size), std::move(hold));
}

bool ReceiveBudget::reserve(uint64_t more_bytes, uint64_t held_bytes, bool force) {
  uint64_t used = used_.load();
  for (;;) {
    const bool fits =
        force || used == held_bytes || (used <= limit_ && more_bytes <= limit_ - used);
    if (!fits) {
      // Announce the wait, then look again: a release in between would otherwise wake nobody.
      if (waiting_.exchange(true) && used_.load() == used) return false;
      uint64_t again = used_.load();
      if (again == used) return false;
      used = again;
      continue;
    }
    if (used_.compare_exchange_weak(used, used + more_bytes)) return true;
  }
}

void ReceiveBudget::release(uint64_t size_bytes) {
  used_.fetch_sub(size_bytes);
  wake();
}

void ReceiveBudget::wake() {
  if (waiting_.exchange(false) && on_released_) on_released_();
}

}  // namespace swarm::actors::links
