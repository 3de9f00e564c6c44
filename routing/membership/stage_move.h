/// How a peer leaves its stage for another one (docs/elastic.md).
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
  /// Requires under_way() or that it is gone.
  const Order& order() const { return order_; }

  /// MOVE. False: it carries this order out already, or is gone.
  bool told(const Order& order) {
    if (at_ == At::kGone || (under_way() && order == order_)) return false;
    at_ = At::kFinishes;
    order_ = order;
    asking_ = false;
    ask_at_ = Time();
    return true;
  }
  /// Any other verdict goes with the order `number` of `term`. True: the order is over, the peer serves on.
  bool lapses(uint64_t number, Term term) {
    return !(number == order_.number && term == order_.term) && end();
  }
  /// The peer leaves, or takes another state. False: it carried out no order.
  bool end() {
    if (!under_way()) return false;
    at_ = At::kServes;
    return true;
  }

  /// To be asked now and then. True: ask the coordinator now. `owes`: something is not finished.
  bool asks(bool owes, Time now) {
    if (!under_way() || owes || asking_ || now < ask_at_) return false;
    at_ = At::kAsks;
    return asking_ = true;
  }
  /// What came of asking for `order`.
  Answer answered(const Order& order, bool yes, Time retry_after, Time now) {
    if (!asked() || !(order == order_)) return Answer::kNone;
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

 private:
  enum class At { kServes, kFinishes, kAsks, kGone };

  At at_ = At::kServes;
  Order order_;
  bool asking_ = false;
  Time ask_at_{};
};

}  // namespace swarm::routing
