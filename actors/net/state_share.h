/// States are the last class, and activations may never cease: while states and others wait, states
/// get a share of what is sent. Nothing is saved up while one of the two does not wait. Control goes
/// before both and does not count. Pure; one owner.
#pragma once

#include <algorithm>
#include <cstddef>

#include "actors/net/traffic.h"

namespace swarm::actors {

/// Of a donor's uplink, for newcomers.
constexpr double kJoinShare = 0.5;

class StateShare {
 public:
  /// 0 <= share < 1.
  explicit StateShare(double share = kJoinShare) : share_(share) {}

  /// Of a state and another class that both wait, the state goes next.
  bool state_is_next() const { return credit_ > 0; }
  /// The order in which classes go now: the smallest first.
  int rank(TrafficClass traffic) const {
    if (traffic == TrafficClass::kState && state_is_next()) return 2 * kControlRank + 1;
    return 2 * static_cast<int>(traffic);
  }
  /// Bytes of this class were sent; `both`: a state and another class waited then.
  void sent(TrafficClass traffic, size_t bytes, bool both) {
    if (!both || traffic == TrafficClass::kControl) return;
    const auto size = static_cast<double>(bytes);
    credit_ += traffic == TrafficClass::kState ? -size * (1 - share_) : size * share_;
    credit_ = std::clamp(credit_, -kMostCredit, kMostCredit);
  }
  /// Classes that may wait together.
  static bool contends(TrafficClass traffic) {
    return traffic == TrafficClass::kGradients || traffic == TrafficClass::kActivations;
  }

 private:
  static constexpr int kControlRank = static_cast<int>(TrafficClass::kControl);
  static constexpr double kMostCredit = 1 << 20;

  double share_;
  double credit_ = 0;  // bytes; above 0: states have had less than their share
};

}  // namespace swarm::actors
