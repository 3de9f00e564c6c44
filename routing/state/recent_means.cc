#include "routing/state/recent_means.h"

#include <algorithm>
#include <utility>

namespace swarm::routing {

void RecentMeans::asked(Time now) {
  asked_ = now;
  since_asked_ = 0;
}

void RecentMeans::applied(AppliedMean mean, Time now) {
  if (!asked_) return;
  if (++since_asked_ > kKept && now - *asked_ > kPatience) {
    asked_.reset();
    return kept_.clear();
  }
  kept_.push_back(std::move(mean));
  if (kept_.size() > kKept) kept_.pop_front();
}

const AppliedMean* RecentMeans::from(const StateLabel& label) const {
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&label](const AppliedMean& mean) {
    return mean.before == label;
  });
  return found == kept_.rend() ? nullptr : &*found;
}

}  // namespace swarm::routing
