// The launcher's part that carries out [chaos] and preempt_every_s; chaos.h decides.
#include <algorithm>

#include "apps/launch/launcher.h"

namespace swarm::launch {

using config::TimelineAction;

/// Time begins with the first step that this process sees closed; in a resumed run with that of the
/// last entry that was carried out before.
void Launcher::follow_chaos() {
  using Clock = std::chrono::steady_clock;
  if (chaos_.empty()) return;
  if (!chaos_began_at_) {
    if (state_.steps_closed() <= steps_before_) return;
    chaos_began_at_ = Clock::now();
    next_chaos_ = std::min(state_.chaos_done(), chaos_.size());
    if (next_chaos_ > 0)
      *chaos_began_at_ -= std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(chaos_[next_chaos_ - 1].at_s));
  }
  const double now_s = std::chrono::duration<double>(Clock::now() - *chaos_began_at_).count();
  for (auto& [name, back] : returns_) {
    if (back.done || now_s < back.due_s) continue;
    back.done = true;
    record(name, records::ChaosAct{{}, config::to_string(back.action), false});
    if (Node* node = find(name); node != nullptr && node->process) apply(*node, back.action);
    if (over_) return;
  }
  for (; next_chaos_ < chaos_.size() && now_s >= chaos_[next_chaos_].at_s; ++next_chaos_)
    take(next_chaos_, now_s);
}

void Launcher::take(size_t index, double now_s) {
  const ChaosEvent& event = chaos_[index];
  const std::string name = event.node == kTheCoordinator ? state_.coordinator() : event.node;
  Node* node = find(name);
  const auto gone = missing(now_s);
  if (node == nullptr || gone.count(name) > 0 || (event.spares && spared(*node, gone)))
    return record(name, records::ChaosSpared{index});
  record(name,
         records::ChaosAct{index, config::to_string(event.action), event.node == kTheCoordinator});
  apply(*node, event.action);
  const auto back =
      event.action == TimelineAction::kPause ? TimelineAction::kResume : TimelineAction::kStart;
  const double due_s = now_s + event.down_for_s;
  returns_[name] = {due_s, due_s + experiment_.chaos.settle_s, back, false};
}

/// Not running, not yet listening, or not long enough.
std::set<std::string> Launcher::missing(double now_s) const {
  std::set<std::string> out;
  for (const auto& node : nodes_)
    if (!node->process || !node->process->running() || !node->listening)
      out.insert(node->spec.name);
  for (const auto& [name, back] : returns_)
    if (!back.done || now_s < back.settled_s) out.insert(name);
  return out;
}

bool Launcher::spared(const Node& node, const std::set<std::string>& missing) const {
  if (is_last(experiment_, missing, node.spec.name)) return true;
  if (!experiment_.chaos.spare_last) return false;
  const auto& live = state_.live_peers();  // as the swarm saw it when the last step closed
  for (const int32_t stage : node.spec.stages)
    if (static_cast<size_t>(stage) < live.size() && live[static_cast<size_t>(stage)] <= 1)
      return true;
  return false;
}

}  // namespace swarm::launch
