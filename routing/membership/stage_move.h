/// How a peer leaves its stage, for another one or because its node ends (docs/elastic.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/strong_id.h"
#include "routing/time.h"

namespace swarm::routing {

/// At the coordinator's word it takes nothing new and finishes what it has; then it asks whether it may go.
///
///     serves --told()--> finishes --asks()--> asks --answered(): yes--> gone
///        ^                  |                  |
///        '-- lapses(), end(), answered(): no --'
///
/// leave() is an order that nobody takes back: its answer is may_end(), and until that says yes, or its time
/// is over, it finishes.
///
/// Pure; not thread-safe; one owner.
class StageMove {
 public:
  struct Order {
    uint64_t number = 0;  ///< In the coordinator's term.
    Term term;
    Stage to;

    friend bool operator==(const Order& a, const Order& b) {
      return a.number == b.number && a.term == b.term && a.to == b.to;
    }
  };
  enum class Answer {
    kNone,  ///< To an order that is over.
    kGo,
    kServeOn,
    kLater,  ///< Asked again when its time has come.
  };
  /// Between two questions, if the answer says nothing of it.
  static constexpr Time kRetry = std::chrono::milliseconds(200);
  static constexpr Time kLongestRetry = std::chrono::seconds(2);

  /// It takes no microbatches, and nobody is to find it.
  bool under_way() const { return at_ == At::kFinishes || at_ == At::kAsks; }
  bool asked() const { return at_ == At::kAsks; }
  /// It finishes because its node ends.
  bool leaves() const { return leaves_ && under_way(); }
  /// What it has asked is not answered yet.
  bool waits_for_answer() const { return under_way() && asking_; }
  /// Requires under_way() or that it is gone. Of one whose node ends: number 0.
  const Order& order() const { return order_; }

  /// MOVE. False: it carries this order out already, or is gone.
  bool told(const Order& order) {
    if (at_ == At::kGone || leaves_ || (under_way() && order == order_)) return false;
    begin(order);
    return true;
  }
  /// The node ends. False: it was told so before.
  bool leave(Time until) {
    if (leaves_) return false;
    leaves_ = true;
    until_ = until;
    begin(Order());
    return true;
  }
  /// Any other verdict goes with the order `number` of `term`. True: the order is over, the peer serves on.
  bool lapses(uint64_t number, Term term) {
    return !(number == order_.number && term == order_.term) && end();
  }
  /// The peer leaves, or takes another state. False: it carried out no order.
  bool end() {
    if (!under_way() || leaves_) return false;
    at_ = At::kServes;
    return true;
  }

  /// To be asked now and then. True: ask the coordinator now. `owes`: something is not finished; whose node
  /// ends asks all the same, as it may be of no use to finish it.
  bool asks(bool owes, Time now) {
    if (!under_way() || (owes && !leaves_) || asking_ || now < ask_at_) return false;
    at_ = At::kAsks;
    return asking_ = true;
  }
  /// What came of asking for `order`.
  Answer answered(const Order& order, bool yes, Time retry_after, Time now) {
    if (!asked() || leaves_ || !(order == order_)) return Answer::kNone;
    asking_ = false;
    if (yes) {
      at_ = At::kGone;
      return Answer::kGo;
    }
    if (retry_after <= Time()) {
      end();
      return Answer::kServeOn;
    }
    ask_at_ = now + std::min(retry_after, kLongestRetry);
    return Answer::kLater;
  }

  /// Of one whose node ends: no time is left.
  bool expired(Time now) const { return leaves() && now >= until_; }
  /// What came of asking whether the node may end. True: it is gone. `remaining`: what it waits for takes so
  /// much longer; if that is more than it has left it goes at once.
  bool may_end(bool yes, Time retry_after, Time remaining, Time now) {
    if (!leaves() || !asking_) return false;
    asking_ = false;
    if (yes || now + remaining >= until_) {
      gone();
      return true;
    }
    ask_at_ = now + std::clamp(retry_after, kLeastRetry, kLongestRetry);
    return false;
  }
  void gone() { at_ = At::kGone; }
  Time until() const { return until_; }

 private:
  enum class At { kServes, kFinishes, kAsks, kGone };
  static constexpr Time kLeastRetry = std::chrono::milliseconds(20);

  void begin(const Order& order) {
    at_ = At::kFinishes;
    order_ = order;
    asking_ = false;
    ask_at_ = Time();
  }

  At at_ = At::kServes;
  Order order_;
  bool asking_ = false;
  Time ask_at_{};
  bool leaves_ = false;
  Time until_{};
};

}  // namespace swarm::routing
