#include "apps/bench/figures/churn_coordinator.h"

#include <algorithm>

namespace swarm::apps {
namespace {

using routing::PlacedPeer;
using routing::Time;

Time at(double seconds) {
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
}

PeerId peer_of(uint32_t node) {
  PeerId id;
  for (size_t i = 0; i < 4; ++i) id.node.bytes[i] = static_cast<uint8_t>(node >> (24 - 8 * i));
  id.actor = "stage.0";
  return id;
}
uint32_t node_of(const PeerId& id) {
  uint32_t node = 0;
  for (size_t i = 0; i < 4; ++i) node = node << 8 | id.node.bytes[i];
  return node;
}

routing::PlacementOptions placement_options(const ReplayOptions& options) {
  routing::PlacementOptions placement;
  if (options.moves) placement.period = at(options.period_s);
  placement.floor = options.floor;
  placement.warm_up = at(options.costs.warm_up_s);
  return placement;
}

}  // namespace

ChurnCoordinator::ChurnCoordinator(uint32_t stages, const ReplayOptions& options)
    : options_(options),
      placement_(stages, placement_options(options), Time(0)),
      here_(stages, 0),
      noise_(options.seed) {
  view_.state_bytes.assign(stages, options.costs.model_bytes / stages);
}

void ChurnCoordinator::waits(uint32_t node) { waiting_.push_back(node); }

size_t ChurnCoordinator::place_of(uint32_t node) const {
  return static_cast<size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
}

void ChurnCoordinator::learns(uint32_t node, uint32_t stage) {
  const size_t place = place_of(node);
  const auto offset = static_cast<std::ptrdiff_t>(place);
  if (is_here(place, node)) {
    --here_[view_.peers[place].stage.value()];
  } else {
    nodes_.insert(nodes_.begin() + offset, node);
    view_.peers.emplace(view_.peers.begin() + offset);
  }
  ++here_[stage];
  PlacedPeer& peer = view_.peers[place];
  peer.id = peer_of(node);
  peer.stage = Stage(stage);
  peer.standing = PlacedPeer::Standing::kLearns;
  peer.report.reset();
  peer.bytes_per_s = options_.costs.link_bytes_per_s;
}

/// It says so, and has done nothing yet.
void ChurnCoordinator::serves(uint32_t node, double now_s) {
  PlacedPeer& peer = view_.peers[place_of(node)];
  peer.standing = options_.moves ? PlacedPeer::Standing::kMovable : PlacedPeer::Standing::kStays;
  peer.report = {peer.stage, at(now_s), 0, 0, 0};
}

void ChurnCoordinator::gone(uint32_t node) {
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), node), waiting_.end());
  placement_.lost(peer_of(node).node);
  const size_t place = place_of(node);
  if (!is_here(place, node)) return;
  --here_[view_.peers[place].stage.value()];
  const auto offset = static_cast<std::ptrdiff_t>(place);
  nodes_.erase(nodes_.begin() + offset);
  view_.peers.erase(view_.peers.begin() + offset);
}

/// A peer needs a second for a microbatch. Work waits in front of the slowest stage.
void ChurnCoordinator::hear(const std::vector<uint32_t>& serving, double now_s) {
  const double pace = *std::min_element(serving.begin(), serving.end());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    PlacedPeer& peer = view_.peers[i];
    if (nodes_[i] % kReportEvery != looks_ % kReportEvery || !peer.report) continue;
    const uint32_t beside = serving[peer.stage.value()];
    const double done_per_s = pace / beside;
    const double needs_s = 1 + kNoise * (2 * noise_.uniform() - 1);
    peer.report = {peer.stage, at(now_s), done_per_s * needs_s, beside == pace ? 1.0 : 0.0,
                   done_per_s};
  }
  ++looks_;
}

bool ChurnCoordinator::is_time(double now_s) const {
  return !waiting_.empty() || at(now_s) >= placement_.next() ||
         *std::min_element(here_.begin(), here_.end()) < options_.floor;
}

std::vector<ChurnCoordinator::Move> ChurnCoordinator::look(const std::vector<uint32_t>& serving,
                                                           double now_s) {
  hear(serving, now_s);
  std::vector<Move> moves;
  if (!is_time(now_s)) return moves;
  view_.newcomers.clear();
  for (const uint32_t node : waiting_)
    view_.newcomers.push_back({peer_of(node), options_.costs.link_bytes_per_s});
  waiting_.clear();
  for (const auto& order : placement_.decide(view_, at(now_s)).orders)
    moves.push_back({node_of(order.peer), order.to.value(), !order.from});
  return moves;
}

bool ChurnCoordinator::may_leave(uint32_t node, double now_s) {
  const PeerId peer = peer_of(node);
  const bool may = placement_.may_leave(peer, view_, at(now_s));
  if (!may) placement_.cancel(peer, at(now_s));
  return may;
}

}  // namespace swarm::apps
