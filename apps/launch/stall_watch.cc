#include "apps/launch/stall_watch.h"

namespace swarm::launch {

void StallWatch::begin(const RunProgress& seen, double now_s) {
  seen_ = seen;
  done_at_s_ = moved_at_s_ = now_s;
}

bool StallWatch::stalls(const RunProgress& seen, double now_s) {
  if (seen.done != seen_.done) done_at_s_ = now_s;
  if (seen.moved != seen_.moved || seen.done != seen_.done) moved_at_s_ = now_s;
  seen_ = seen;
  return now_s - moved_at_s_ > limit_s_ || now_s - done_at_s_ > kLimitsOfBytes * limit_s_;
}

}  // namespace swarm::launch
