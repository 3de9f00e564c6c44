#include "routing/steps/progress_watch.h"

#include <algorithm>

namespace swarm::routing {

bool ProgressWatch::look(Step step, uint32_t slots_done, uint64_t bytes, Time now) {
  const bool other = step_ != step;
  bytes_ = std::min(bytes_, bytes);
  const bool goes_on = slots_done > slots_done_ || bytes > bytes_;
  if (!other && (!goes_on || now - said_at_ < kEvery)) return false;
  step_ = step;
  said_at_ = now;
  slots_done_ = other ? slots_done : std::max(slots_done_, slots_done);
  bytes_ = bytes;
  return !other;
}

}  // namespace swarm::routing
