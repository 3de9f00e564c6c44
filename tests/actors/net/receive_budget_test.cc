// Property: whatever the order in which bodies come, grow, are let go and give up, nobody waits for ever, and what is
// not all here is past the limit by no more than one body.
#include "actors/net/links/receive_budget.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <random>
#include <vector>

namespace swarm::actors::links {
namespace {

/// Senders whose bodies come piece by piece, and actors that let them go. Who was refused does nothing before the
/// budget says that something has come back.
class Traffic {
 public:
  explicit Traffic(uint64_t seed) : random_(seed), limit_(between(1 << 20, 16 << 20)) {
    senders_.resize(between(2, 12));
    for (Sender& sender : senders_) sender.left = between(1, 8);
  }
  /// Until every body has come and was let go. False: all wait.
  bool run() {
    for (;;) {
      std::vector<Sender*> ready;
      bool any = !arrived_.empty();
      for (Sender& sender : senders_) {
        if (!sender.hold && sender.left == 0) continue;
        any = true;
        if (!sender.waits) ready.push_back(&sender);
      }
      if (!any) return true;
      if (ready.empty() && arrived_.empty()) return false;
      if (ready.empty() || (!arrived_.empty() && one_in(3)))
        let_go();
      else
        go_on(*ready[between(0, ready.size() - 1)]);
      BOOST_REQUIRE(half_here() <= limit_ + largest());
      BOOST_REQUIRE(half_here() <= budget_->used_bytes());
    }
  }
  uint64_t used() const { return budget_->used_bytes(); }

 private:
  struct Sender {
    uint64_t left = 0;  ///< Bodies after this one.
    uint64_t whole = 0, room = 0;
    bool waits = false;
    std::shared_ptr<ReceiveHold> hold;
  };

  uint64_t between(uint64_t least, uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(least, most)(random_);
  }
  bool one_in(uint64_t n) { return between(1, n) == 1; }

  uint64_t half_here() const {
    uint64_t bytes = 0;
    for (const Sender& sender : senders_) bytes += sender.hold ? sender.room : 0;
    return bytes;
  }
  uint64_t largest() const {
    uint64_t most = 0;
    for (const Sender& sender : senders_)
      if (sender.hold) most = std::max(most, sender.whole);
    return most;
  }
  void let_go() {
    const size_t at = between(0, arrived_.size() - 1);
    if (one_in(2)) arrived_[at]->give_back();  // taken over: its actor counts it from here on
    arrived_.erase(arrived_.begin() + static_cast<long>(at));
  }
  void go_on(Sender& sender) {
    if (!sender.hold) {
      --sender.left;
      sender.whole = between(1, one_in(10) ? 2 * limit_ : limit_ / 3);
      sender.room = 0;
      sender.hold = std::make_shared<ReceiveHold>(budget_);
    }
    if (one_in(40)) return sender.hold.reset();  // its link is lost
    const uint64_t more =
        sender.room == 0 ? ReceiveBudget::kFirstBytes : ReceiveBudget::kGrowth * sender.room;
    const uint64_t room = std::min(sender.whole, more);
    if (!sender.hold->grow(room, /*force=*/false)) {
      sender.waits = true;
      return;
    }
    sender.room = room;
    if (room < sender.whole) return;
    sender.hold->arrived();
    arrived_.push_back(std::move(sender.hold));
    sender.hold = nullptr;
  }

  std::mt19937_64 random_;
  const uint64_t limit_;
  std::vector<Sender> senders_;
  const std::shared_ptr<ReceiveBudget> budget_ = std::make_shared<ReceiveBudget>(limit_, [this] {
    for (Sender& sender : senders_) sender.waits = false;
  });
  std::vector<std::shared_ptr<ReceiveHold>> arrived_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ReceiveBudgets)

BOOST_AUTO_TEST_CASE(whoever_waits_is_woken_and_one_half_body_at_most_is_past_the_limit) {
  for (uint64_t seed = 1; seed <= 2'000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Traffic traffic(seed);
      BOOST_REQUIRE(traffic.run());
      BOOST_TEST(traffic.used() == 0u);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::actors::links
