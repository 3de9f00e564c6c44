// The launcher's part that carries out [chaos] and preempt_every_s; chaos_run.h decides.
#include "apps/launch/launcher.h"
#include "apps/launch/run_folder.h"

namespace swarm::launch {

/// Time begins with the first step that this process sees closed; in a resumed run with that of the
/// last entry that was carried out before.
void Launcher::follow_chaos() {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  if (chaos_.empty()) return;
  if (!chaos_began_at_) {
    if (state_.steps_closed() <= steps_before_) return;
    const Seconds behind(chaos_.resume(state_.chaos_done()));
    chaos_began_at_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(behind);
  }
  const double now_s = Seconds(Clock::now() - *chaos_began_at_).count();
  for (const ChaosOrder& order : chaos_.due(now_s, chaos_facts())) {
    carry_out(order);
    if (over_) return;
  }
}

ChaosFacts Launcher::chaos_facts() const {
  ChaosFacts facts;
  for (const auto& node : nodes_)
    if (!node->process || !node->process->running() || !node->listening)
      facts.down.insert(node->spec.name);
  facts.coordinator = state_.coordinator();
  facts.live_peers = state_.live_peers();
  facts.as_served = [this] { return as_served(experiment_, options_.folder); };
  return facts;
}

void Launcher::carry_out(const ChaosOrder& order) {
  if (order.kind == ChaosOrder::Kind::kSpare)
    return record(order.node, records::ChaosSpared{*order.index});
  record(order.node,
         records::ChaosAct{order.index, config::to_string(order.action), order.as_coordinator});
  Node* node = find(order.node);
  if (node != nullptr && node->process) apply(*node, order.action);
}

}  // namespace swarm::launch
