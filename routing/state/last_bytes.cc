#include "routing/state/last_bytes.h"

#include <algorithm>

namespace swarm::routing {

bool LastBytes::go_on(uint64_t queued, double bytes_per_s, Time now) {
  if (!moved_at_) {
    const double rate = bytes_per_s > 0 ? bytes_per_s : kUnseenRate;
    const double most_s = std::chrono::duration<double>(std::max(end_ - now, Time(0))).count();
    const double needs_s = std::min(most_s, kPatience * static_cast<double>(queued) / rate);
    const auto needs = std::chrono::duration_cast<Time>(std::chrono::duration<double>(needs_s));
    end_ = std::min(end_, now + kStuck + needs);
  }
  if (!moved_at_ || queued < queued_) moved_at_ = now;
  queued_ = queued;
  return queued > 0 && now < end_ && now - *moved_at_ < kStuck;
}

}  // namespace swarm::routing
