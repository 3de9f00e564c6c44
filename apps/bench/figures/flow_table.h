/// The scenarios of docs/performance.md, "Who gets how much" and "How busy", and their tables. Pure but
/// for what measures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/figures/flow.h"
#include "common/result.h"

namespace swarm::apps {

/// A stage's peers of one scenario, and the same swarm without the machines that are slow in it.
struct ShareCase {
  FlowScenario with;
  FlowScenario without;
  bool has_slow = true;  ///< Else `without` is the same.
};

/// 4 stages of `peers` peers each: one slow link (a quarter of what its computer could do), one
/// computer four times slower, both, both in every stage (not with 2 peers: nobody would be fast),
/// one peer of each stage 100 ms further away. Asynchronous, or synchronous with 64 microbatches a step.
/// Computing takes `compute_s` a microbatch.
std::vector<ShareCase> share_cases(size_t peers, bool asynchronous, double compute_s = 0.1);

/// 4 stages of 2 peers: `transfer` is what a microbatch takes of each direction of a peer's link,
/// in parts of its compute; `round_trip_s` between any two nodes. Asynchronous.
FlowScenario utilisation(double transfer, double round_trip_s, double compute_s = 0.2);

struct FlowTableOptions {
  /// Runs a scenario; tables print errors in place of figures.
  std::function<Result<FlowResult>(const FlowScenario&)> measure;
  uint64_t seed = 1;
  /// The first is judged, the others stand beside it.
  std::vector<routing::WiringCost> costs{
      routing::WiringCost::kOccupancy, routing::WiringCost::kResponse,
      routing::WiringCost::kCompute, routing::WiringCost::kRandom, routing::WiringCost::kFixed};
  std::optional<double> compute_s, settle_s, measured_s;  ///< Else the scenarios' own.
  bool json = false;
  std::string only;  ///< Scenarios with these words in their name: "asynchronous 4 one slow link".
  bool peers = false;  ///< A line for each peer besides.
};
/// Measures and prints, a line a scenario; returns how many did not meet their bar. What was measured
/// on a machine that was itself busy (kMostCpu) meets none.
using Print = std::function<void(const std::string&)>;
int shares_table(const FlowTableOptions& options, const Print& print);
int utilisation_table(const FlowTableOptions& options, const Print& print);

/// Of all cores. Beyond it, what is measured with processes is the machine and not the swarm.
constexpr double kMostCpu = 0.7;

}  // namespace swarm::apps
