/// How much work others may ask of a DHT node, each for itself: strangers are many, and each is free to ask.
/// Pure: time is an argument; one owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "common/ids.h"

namespace swarm::routing {

class AskerBudget {
 public:
  static constexpr double kBytesPerS = 1 << 20;
  static constexpr double kBurst_s = 4;             ///< So much of it may be used at once.
  static constexpr uint64_t kRequestBytes = 4'096;  ///< What a request costs besides its records.
  static constexpr size_t kMaxAskers = 1'024;       ///< More share one budget.

  /// Whether `asker` may have `bytes` more read, kept or sent; if so they are counted. What is larger than
  /// the burst passes once the debts are paid.
  bool may(const NodeId& asker, uint64_t bytes, double now_s) {
    if (paid_s_.size() >= kMaxAskers && paid_s_.count(asker) == 0) forget_paid(now_s);
    const bool known = paid_s_.size() < kMaxAskers || paid_s_.count(asker) != 0;
    double& paid_s = paid_s_[known ? asker : NodeId()];
    paid_s = std::max(paid_s, now_s);
    if (paid_s > now_s + kBurst_s) return false;
    paid_s += static_cast<double>(bytes) / kBytesPerS;
    return true;
  }
  size_t askers() const { return paid_s_.size(); }

 private:
  /// At most once a second: a full table of debtors is not walked for every stranger.
  void forget_paid(double now_s) {
    if (now_s < next_walk_s_) return;
    next_walk_s_ = now_s + 1;
    for (auto it = paid_s_.begin(); it != paid_s_.end();)
      it = it->second <= now_s ? paid_s_.erase(it) : std::next(it);
  }

  std::map<NodeId, double> paid_s_;  // when what each has had is paid for
  double next_walk_s_ = -1e300;
};

}  // namespace swarm::routing
