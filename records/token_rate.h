/// How fast a run trains, from its closings. The only definition of `tokens_per_second` of a
/// metrics line. Pure; time is an argument. One owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace swarm::records {

/// Steps that are open one at a time: the tokens of a step through its seconds. Periods that are
/// open together close in bursts, so that the time from one closing to the next says nothing: the
/// tokens of as many as may be open, through the seconds since the closing before them.
class TokenRate {
 public:
  /// Requires open_together >= 1.
  explicit TokenRate(size_t open_together) : open_together_(open_together) {}

  /// A step or period of `tokens` has closed, `seconds` after its opening or the closing before.
  /// Nothing if no time has passed.
  std::optional<double> closed(uint64_t tokens, double seconds);
  /// The swarm has begun again: what was measured before is of another time.
  void clear() { last_.clear(); }

 private:
  struct Closing {
    uint64_t tokens;
    double seconds;
  };
  size_t open_together_;
  std::deque<Closing> last_;
};

}  // namespace swarm::records
