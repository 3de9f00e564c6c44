/// The simulator's only source of chance: everything that a run decides comes from one seed.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

#include "common/mix.h"

namespace swarm::sim {

/// One owner; not thread-safe.
class Random {
 public:
  using Duration = std::chrono::nanoseconds;
  explicit Random(uint64_t seed) : bits_(seed) {}

  uint64_t next() { return bits_.next(); }
  /// 0 .. n - 1; requires n > 0.
  uint64_t below(uint64_t n) { return next() % n; }
  /// [0, 1)
  double uniform() { return bits_.uniform(); }
  bool chance(double probability) { return probability > 0 && uniform() < probability; }
  Duration between(Duration from, Duration to) {
    return from +
           Duration(static_cast<int64_t>(uniform() * static_cast<double>((to - from).count())));
  }
  /// Uniform in the logarithm: short and long values are equally likely. Requires 0 < from <= to.
  Duration spread(Duration from, Duration to) {
    double low = std::log(static_cast<double>(from.count()));
    double high = std::log(static_cast<double>(to.count()));
    return Duration(static_cast<int64_t>(std::exp(low + uniform() * (high - low))));
  }
  /// A generator of its own, so that one part's draws do not shift another's.
  Random fork() { return Random(next()); }

 private:
  SplitMix64 bits_;
};

}  // namespace swarm::sim
