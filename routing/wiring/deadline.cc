#include "routing/wiring/deadline.h"

#include <algorithm>
#include <cmath>

namespace swarm::routing {

double least_deadline_s(const Way& way) {
  const double leaves_s = std::isfinite(way.leaves_s) ? way.leaves_s : 0;
  if (way.paced_s)
    return std::min(kPatienceOfBytes * std::max(*way.paced_s, leaves_s), kLongestDeadlineS);
  // It crosses all boundaries twice. Those before it keep it waiting where it is slowest: at a node
  // that sends both ways.
  const double crossings = way.boundaries == 0 ? 0 : 2.0 * way.boundaries + 2.0 * way.ahead;
  const double unseen_s = crossings * static_cast<double>(way.bytes) / kUnseenBytesPerS;
  return std::min(std::max(unseen_s, kPatienceOfBytes * leaves_s), kLongestDeadlineS);
}

}  // namespace swarm::routing
