/// How long so many bytes may take on a way whose speed is learned from what it has carried, such as
/// the disk that snapshots go to.
///
/// Pure: time is an argument. One owner.
#pragma once

#include <algorithm>
#include <cstdint>

#include "routing/time.h"

namespace swarm::routing {

class BytePace {
 public:
  /// Several times what is expected: a way that is dead says so itself, or is given up late.
  static constexpr double kPatience = 8;

  /// `assumed_bytes_per_s` while nothing is known; > 0. No limit is shorter than `least`.
  BytePace(double assumed_bytes_per_s, Time least)
      : seconds_per_byte_(1 / assumed_bytes_per_s), least_(least) {}

  void took(uint64_t bytes, Time time);
  Time limit(uint64_t bytes) const { return std::max(least_, some_times(bytes)); }
  /// kPatience times what is expected of so many bytes, however little.
  Time some_times(uint64_t bytes) const;

 private:
  double seconds_per_byte_;
  Time least_;
  bool known_ = false;
};

}  // namespace swarm::routing
