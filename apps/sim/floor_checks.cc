#include "apps/sim/floor_checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace swarm::sim {
namespace {

/// A coordinator may take one that is dead for alive so long (placement.here_within, and mail on its way).
constexpr std::chrono::seconds kUnheard{5};
/// Who serves so long is known to all.
constexpr std::chrono::seconds kKnown{5};

}  // namespace

void FloorChecks::event(const records::Event& event) {
  if (const auto order = event.as<records::PeerMoves>()) why_[order->peer] = order->why;
}

void FloorChecks::now() {
  const auto now = swarm_.system.now();
  for (const auto& [name, node] : swarm_.nodes) {
    const bool serves = node.alive && node.stage >= 0 && node.arithmetic != nullptr &&
                        node.arithmetic->state().is_set();
    if (!serves) continue;
    Seen& seen = seen_[name];
    if (seen.stage != node.stage || now - seen.last > kUnheard) seen = {node.stage, now, now};
    seen.last = now;
  }
}

void FloorChecks::moved(const std::string& node, int from) {
  seen_.erase(node);
  if (from < 0) return;
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
