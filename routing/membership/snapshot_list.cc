#include "routing/membership/snapshot_list.h"

namespace swarm::routing {

void SnapshotList::listed(std::vector<Step> steps) {
  steps_ = std::move(steps);
  // Those that were pruned since need not be remembered; steps after the newest may still come.
  if (!steps_.empty()) spoiled_.erase(spoiled_.begin(), spoiled_.lower_bound(steps_.back()));
}

void SnapshotList::saved(Step step) {
  spoiled_.erase(step);
  if (steps_.empty() || steps_.front() < step) steps_.insert(steps_.begin(), step);
}

std::vector<Step> SnapshotList::readable() const {
  std::vector<Step> good;
  for (Step step : steps_)
    if (spoiled_.count(step) == 0) good.push_back(step);
  return good;
}

}  // namespace swarm::routing
