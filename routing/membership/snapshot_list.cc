#include "routing/membership/snapshot_list.h"

namespace swarm::routing {

void SnapshotList::listed(std::vector<Step> steps) {
  steps_ = std::move(steps);
  // Those that were pruned since need not be remembered; steps after the newest may still come.
  if (steps_.empty()) return;
  spoiled_.erase(spoiled_.begin(), spoiled_.lower_bound(steps_.back()));
  histories_.erase(histories_.begin(), histories_.lower_bound(steps_.back()));
}

std::optional<Step> SnapshotList::untold(const std::vector<Step>& steps) const {
  for (Step step : steps)
    if (histories_.count(step) == 0) return step;
  return std::nullopt;
}

void SnapshotList::saved(Step step, History history) {
  spoiled_.erase(step);
  histories_[step] = history;
  if (steps_.empty() || steps_.front() < step) steps_.insert(steps_.begin(), step);
}

void SnapshotList::forget_newer(Step step) {
  histories_.erase(histories_.upper_bound(step), histories_.end());
  while (!steps_.empty() && steps_.front() > step) steps_.erase(steps_.begin());  // newest first
}

void SnapshotList::is_at(Step step, History history) {
  if (!goes_with(this->history(step), history)) spoiled(step);
}

History SnapshotList::history(Step step) const {
  const auto known = histories_.find(step);
  return known == histories_.end() ? History() : known->second;
}

std::vector<Step> SnapshotList::readable() const {
  std::vector<Step> good;
  for (Step step : steps_)
    if (spoiled_.count(step) == 0) good.push_back(step);
  return good;
}

}  // namespace swarm::routing
