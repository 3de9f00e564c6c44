#include "routing/backoff.h"

#include <algorithm>
#include <cmath>

namespace swarm::routing {

double backoff_s(const BackoffOptions& options, uint32_t failures, double random) {
  if (failures == 0) return 0;
  double factor = std::max(options.factor, 1.0);
  double delay = options.initial_s * std::pow(factor, static_cast<double>(failures - 1));
  if (!(delay < options.max_s)) delay = options.max_s;  // infinity too
  double part = std::min(std::max(random, 0.0), 1.0);
  return delay * (1 - std::min(std::max(options.jitter, 0.0), 1.0) * part);
}

}  // namespace swarm::routing
