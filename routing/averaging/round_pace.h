/// How long an averaging round may take, judged by how long rounds took so far.
///
/// The first round has nothing to go by: it is given what twice its bytes take at 100 Mb/s, the
/// slowest link this is made for. Later ones are given eight times the observed seconds per byte.
/// The estimate rises at once and falls slowly: a false alarm costs a round and its samples,
/// patience costs time. Never less than `least`, of which a quarter is enough once three rounds are
/// known; never more than an hour.
///
/// Pure; one owner.
#pragma once

#include <chrono>
#include <cstdint>

namespace swarm::routing {

class RoundPace {
 public:
  using Millis = std::chrono::milliseconds;

  explicit RoundPace(Millis least) : least_(least) {}

  /// For a round over a vector of so many bytes.
  Millis limit(uint64_t bytes) const;
  /// A round among several members was done.
  void done(double seconds, uint64_t bytes);
  /// A round was given up after so long, and not because somebody was gone: all that is known is that it takes
  /// longer. The next one of as many bytes has twice as long. So members that gave up one round have about the same
  /// limit for the next, whatever theirs were.
  void missed(double seconds, uint64_t bytes);

 private:
  double patience() const;

  Millis least_;
  double seconds_per_byte_ = 1.0 / 12.5e6;
  int rounds_ = 0;  ///< Known.
};

}  // namespace swarm::routing
