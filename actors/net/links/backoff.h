/// How long to leave a node alone after a failed dial.
#pragma once

#include <algorithm>
#include <chrono>

namespace swarm::actors::links {

/// Pause after the `failures`-th failure in a row (1, 2, ...): `min` doubled each time up to `max`,
/// then spread over [1/2, 1] of that by `uniform` in [0, 1], so that many nodes do not dial at
/// once.
inline std::chrono::milliseconds dial_pause(int failures, std::chrono::milliseconds min,
                                            std::chrono::milliseconds max, double uniform) {
  auto pause = min;
  for (int i = 1; i < failures && pause < max; ++i) pause *= 2;
  pause = std::min(pause, max);
  return std::chrono::milliseconds(
      static_cast<int64_t>(static_cast<double>(pause.count()) * (0.5 + 0.5 * uniform)));
}

}  // namespace swarm::actors::links
