/// How long to wait before trying a failed thing again.
#pragma once

#include <cstdint>

namespace swarm::routing {

struct BackoffOptions {
  double initial_s = 0.2;  ///< After the first failure.
  double factor = 2.0;     ///< Growth per further failure; at least 1.
  double max_s = 10.0;     ///< Never longer. Longer: less traffic to the dead, later return.
  double jitter = 0.5;     ///< 0 .. 1: the part of the delay that is random, so that nodes which
                           ///< lost the same peer do not return to it at the same moment.
};

/// Delay [s] after `failures` failures in a row: initial * factor^(failures - 1), at most max_s,
/// less up to `jitter` of it. 0 for no failure. `random` in [0, 1) is the caller's; values outside
/// are clamped. Pure.
double backoff_s(const BackoffOptions& options, uint32_t failures, double random);

}  // namespace swarm::routing
