#include "actors/net/links/receive_budget.h"

namespace swarm::actors::links {

std::shared_ptr<ReceiveBudget::Body> ReceiveBudget::take(uint64_t size_bytes, bool force) {
  uint64_t used = used_.load();
  for (;;) {
    bool fits = force || used == 0 || (used <= limit_ && size_bytes <= limit_ - used);
    if (!fits) {
      // Announce the wait, then look again: a release in between would otherwise wake nobody.
      if (waiting_.exchange(true) && used_.load() == used) return nullptr;
      uint64_t again = used_.load();
      if (again == used) return nullptr;
      used = again;
      continue;
    }
    if (used_.compare_exchange_weak(used, used + size_bytes)) break;
  }
  const auto hold = std::make_shared<ReceiveHold>(size_bytes, shared_from_this());
  return std::make_shared<Body>(MutableBuffer::allocate(size_bytes), hold);
}

void ReceiveHold::give_back() {
  if (!given_back_.exchange(true)) budget_->release(size_);
}

void ReceiveBudget::release(uint64_t size_bytes) {
  used_.fetch_sub(size_bytes);
  if (waiting_.exchange(false) && on_released_) on_released_();
}

}  // namespace swarm::actors::links
