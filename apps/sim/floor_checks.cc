#include "apps/sim/floor_checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace swarm::sim {
namespace {

/// A coordinator may take one that is dead for alive so long (placement.here_within, and mail on its way).
constexpr std::chrono::seconds kUnheard{5};
/// Who serves so long is known to all.
constexpr std::chrono::seconds kKnown{5};
const std::string kConscription = "conscription";

}  // namespace

void FloorChecks::event(const records::Event& event) {
  const auto order = event.as<records::PeerMoves>();
  if (!order) return;
  why_[order->peer] = order->why;
  if (order->why == kConscription) taken_over(order->peer, static_cast<int>(event.stage));
}

void FloorChecks::taken_over(const std::string& by, int stage) {
  for (const auto& [name, process] : running_) {
    const auto& node = swarm_.nodes.at(name);
    const bool here = node.alive && !node.drains && node.owner == process.owner;
    if (here && process.stage == stage && swarm_.system.now() - process.since >= kKnown)
      report_("conscription",
              fmt::format("{} is to take over stage {}, though {} serves it", by, stage, name));
  }
}

void FloorChecks::now() {
  const auto now = swarm_.system.now();
  for (const auto& [name, node] : swarm_.nodes) {
    Process& process = running_[name];
    if (!node.alive || process.owner != node.owner || process.stage != node.stage)
      process = {node.alive ? node.stage : -1, node.owner, now};
    const bool serves = node.alive && node.stage >= 0 && node.arithmetic != nullptr &&
                        node.arithmetic->state().is_set();
    if (!serves) continue;
    Seen& seen = seen_[name];
    if (seen.stage != node.stage || now - seen.last > kUnheard) seen = {node.stage, now, now};
    seen.last = now;
  }
}

/// Somebody else stays who serves its stage or would, if the swarm did not gather.
void FloorChecks::conscripted(const std::string& node, int from) {
  const bool others = std::any_of(running_.begin(), running_.end(), [&](const auto& one) {
    return one.first != node && one.second.stage == from && swarm_.nodes.at(one.first).alive;
  });
  if (!others) report_("floor", fmt::format("{} leaves stage {} to nobody", node, from));
}

void FloorChecks::moved(const std::string& node, int from) {
  seen_.erase(node);
  if (from < 0) return;
  if (why_[node] == kConscription) return conscripted(node, from);
  const auto now = swarm_.system.now();
  uint32_t others = 0, all = 1;
  for (const auto& [name, seen] : seen_) {
    const bool here = now - seen.last <= kUnheard;
    others += here && seen.stage == from ? 1 : 0;
    const auto& other = swarm_.nodes.at(name);
    all += other.alive && !other.drains && here && now - seen.first >= kKnown ? 1 : 0;
  }
  const auto& options = swarm_.coordinator_options.placement;
  const uint32_t floor =
      why_[node] == "operator"
          ? 1
          : std::clamp(all / swarm_.num_stages, 1u,
                       std::max(options.floor, swarm_.training.min_peers_per_stage));
  if (others >= floor) return;
  report_("floor", fmt::format("{} leaves stage {} to {} others, though {} are to stay ({})", node,
                               from, others, floor, why_[node]));
}

}  // namespace swarm::sim
