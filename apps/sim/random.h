/// The simulator's only source of chance: everything that a run decides comes from one seed.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace swarm::sim {

/// SplitMix64. The same seed gives the same numbers on every machine and compiler, which the
/// distributions of the standard library do not promise. One owner; not thread-safe.
class Random {
 public:
  using Duration = std::chrono::nanoseconds;
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// 0 .. n - 1; requires n > 0.
  uint64_t below(uint64_t n) { return next() % n; }
  /// [0, 1)
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return probability > 0 && uniform() < probability; }
  Duration between(Duration from, Duration to) {
    return from +
           Duration(static_cast<int64_t>(uniform() * static_cast<double>((to - from).count())));
  }
  /// As many short ones as long ones: uniform in the logarithm. Requires 0 < from <= to.
  Duration spread(Duration from, Duration to) {
    double low = std::log(static_cast<double>(from.count()));
    double high = std::log(static_cast<double>(to.count()));
    return Duration(static_cast<int64_t>(std::exp(low + uniform() * (high - low))));
  }
  /// A generator of its own, so that one part's draws do not shift another's.
  Random fork() { return Random(next()); }

 private:
  uint64_t state_;
};

}  // namespace swarm::sim
