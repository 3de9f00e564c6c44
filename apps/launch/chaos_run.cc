#include "apps/launch/chaos_run.h"

#include <algorithm>

namespace swarm::launch {

using config::TimelineAction;

ChaosRun::ChaosRun(const config::Experiment& experiment)
    : experiment_(experiment), schedule_(chaos_schedule(experiment)) {}

double ChaosRun::resume(size_t done) {
  next_ = std::min(done, schedule_.size());
  return next_ == 0 ? 0 : schedule_[next_ - 1].at_s;
}

std::vector<ChaosOrder> ChaosRun::due(double now_s, const ChaosFacts& facts) {
  std::vector<ChaosOrder> out;
  for (auto& [name, back] : returns_) {
    if (back.done || now_s < back.due_s) continue;
    back.done = true;
    out.push_back({ChaosOrder::Kind::kBack, name, back.action, {}, false});
  }
  for (; next_ < schedule_.size() && now_s >= schedule_[next_].at_s; ++next_)
    out.push_back(order(next_, now_s, facts));
  return out;
}

ChaosOrder ChaosRun::order(size_t index, double now_s, const ChaosFacts& facts) {
  const ChaosEvent& event = schedule_[index];
  const bool as_coordinator = event.node == kTheCoordinator;
  const std::string name = as_coordinator ? facts.coordinator : event.node;
  const auto gone = missing(now_s, facts);
  const bool cuts = event.action == TimelineAction::kCut && cuts_majority(experiment_, gone);
  if (experiment_.find(name) == nullptr || gone.count(name) > 0 ||
      (event.spares && (cuts || spared(name, gone, facts))))
    return {ChaosOrder::Kind::kSpare, name, event.action, index, as_coordinator};
  const double due_s = now_s + event.down_for_s;
  returns_[name] = {due_s, due_s + experiment_.chaos.settle_s, undoes(event.action), false};
  return {ChaosOrder::Kind::kHit, name, event.action, index, as_coordinator};
}

std::set<std::string> ChaosRun::returning() const {
  std::set<std::string> out;
  for (const auto& [name, back] : returns_)
    if (!back.done) out.insert(name);
  return out;
}

std::set<std::string> ChaosRun::missing(double now_s, const ChaosFacts& facts) const {
  std::set<std::string> out = facts.down;
  for (const auto& [name, back] : returns_)
    if (!back.done || now_s < back.settled_s) out.insert(name);
  return out;
}

bool ChaosRun::spared(const std::string& node, const std::set<std::string>& missing,
                      const ChaosFacts& facts) const {
  if (!experiment_.chaos.spare_last) return false;
  const config::Experiment now = facts.as_served ? facts.as_served() : experiment_;
  if (is_last(now, missing, node)) return true;
  for (const int32_t stage : now.find(node)->stages)
    if (static_cast<size_t>(stage) < facts.live_peers.size() &&
        facts.live_peers[static_cast<size_t>(stage)] <= 1)
      return true;
  return false;
}

}  // namespace swarm::launch
