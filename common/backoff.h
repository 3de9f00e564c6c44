/// How long to leave something alone that keeps failing. Pure: the caller counts the failures,
/// waits and draws the jitter.
#pragma once

#include <algorithm>
#include <cstdint>

namespace swarm {

/// Pause after the `failures`-th failure in a row (1, 2, ...): `min`, doubled each time, at most
/// `max`. `Duration` is any std::chrono::duration. Requires 0 < min.
template <class Duration>
Duration backoff(int failures, Duration min, Duration max) {
  Duration pause = min;
  for (int i = 1; i < failures && pause < max; ++i) pause *= 2;
  return std::min(pause, max);
}

/// `pause` spread over [1/2, 1] of itself by `uniform` in [0, 1], so that many who failed at the
/// same moment do not all return at the same moment.
template <class Duration>
Duration jittered(Duration pause, double uniform) {
  return Duration(static_cast<typename Duration::rep>(static_cast<double>(pause.count()) *
                                                      (0.5 + 0.5 * uniform)));
}

}  // namespace swarm
