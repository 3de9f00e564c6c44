#include "apps/bench/figures/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "routing/wiring/step_shares.h"

namespace swarm::apps {
namespace {

/// Of a step: each stage has whole microbatches, dealt out so that the last is done soonest, and
/// waits for the first and after the last as long as the quickest peers before it take.
double shortest_s(const FlowScenario& scenario, const FlowResult& result) {
  double shortest_s = 0, before_s = 0;
  for (size_t stage = 0; stage < result.stages.size(); ++stage) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    double quickest_s = kNever, nearest_s = kNever;
    for (const FlowPeer& peer : scenario.stages[stage]) {
      if (peer.absent) continue;
      quickest_s = std::min(quickest_s, peer.compute_s);
      nearest_s = std::min(nearest_s, peer.away_s);
    }
    std::vector<double> costs_s;
    for (const auto& peer : result.stages[stage]) costs_s.push_back(1 / peer.capacity);
    routing::StepShares shares;
    shares.deal(costs_s, scenario.microbatches, 0, 0);
    before_s += 2 * (scenario.way_s + nearest_s);
    shortest_s = std::max(shortest_s, before_s + shares.takes_s());
    before_s += quickest_s;
  }
  return shortest_s;
}

/// Close, part, average, commit, lease: one after another, and every peer has to have them.
double ending_s(const FlowScenario& scenario) {
  double farthest_s = 0;
  each_peer(scenario, [&](size_t, const std::string&, const FlowPeer& peer) {
    farthest_s = std::max(farthest_s, peer.away_s);
  });
  return 5 * scenario.way_s + 4 * farthest_s;  // trainers lease, and are not far
}

void add_stage(std::vector<FlowResult::Peer>& stage, FlowResult& result) {
  double capacity = 0, carried = 0;
  for (const auto& peer : stage) {
    capacity += peer.capacity;
    carried += peer.carried;
  }
  for (auto& peer : stage) {
    peer.fair = peer.capacity / capacity;
    peer.share = carried > 0 ? peer.carried / carried : 0;
  }
  result.capacity = std::min(result.capacity, capacity);
  result.carried = std::min(result.carried, carried);
}

}  // namespace

std::string flow_peer_name(size_t stage, size_t peer) {
  return fmt::format("stage{}-{}", stage, static_cast<char>('a' + peer));
}

double FlowResult::worst_share() const {
  double worst = 0;
  for (const auto& stage : stages)
    for (const auto& peer : stage)
      worst = std::max(worst, std::abs(peer.share - peer.fair) / peer.fair);
  return worst;
}

void complete(FlowResult& result, const FlowScenario& scenario) {
  result.capacity = result.carried = std::numeric_limits<double>::infinity();
  for (auto& stage : result.stages) add_stage(stage, result);
  result.bound = result.capacity;
  if (!scenario.asynchronous)
    result.bound = scenario.microbatches / (shortest_s(scenario, result) + ending_s(scenario));
}

}  // namespace swarm::apps
