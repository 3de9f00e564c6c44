#include "routing/membership/snapshot_list.h"

namespace swarm::routing {

void SnapshotList::listed(std::vector<uint64_t> steps) {
  steps_ = std::move(steps);
  // Those that were pruned since need not be remembered; steps after the newest may still come.
  if (!steps_.empty()) spoiled_.erase(spoiled_.begin(), spoiled_.lower_bound(steps_.back()));
}

void SnapshotList::saved(uint64_t step) {
  spoiled_.erase(step);
  if (steps_.empty() || steps_.front() < step) steps_.insert(steps_.begin(), step);
}

std::vector<uint64_t> SnapshotList::readable() const {
  std::vector<uint64_t> good;
  for (uint64_t step : steps_)
    if (spoiled_.count(step) == 0) good.push_back(step);
  return good;
}

}  // namespace swarm::routing
