/// The scenarios of docs/performance.md, "Who gets how much" and "How busy", and their tables.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/sim/flow.h"

namespace swarm::sim {

/// A stage's peers of one scenario, and the same swarm without the machines that are slow in it.
struct ShareCase {
  FlowScenario with;
  FlowScenario without;
  bool has_slow = true;  ///< Else `without` is the same.
};

/// 4 stages of `peers` peers each: one slow link (a quarter of what its computer could do), one
/// computer four times slower, both, both in every stage (not with 2 peers: nobody would be fast),
/// one peer of each stage 100 ms further away. Asynchronous, or synchronous with 64 microbatches a step.
std::vector<ShareCase> share_cases(size_t peers, bool asynchronous);

/// 4 stages of 2 peers: `transfer` is what a microbatch takes of each direction of a peer's link,
/// in parts of its compute; `round_trip_s` between any two nodes. Asynchronous.
FlowScenario utilisation(double transfer, double round_trip_s);

struct FlowTableOptions {
  uint64_t seed = 1;
  bool others = true;  ///< Other costs beside: fixed pipelines, random, compute, response.
  bool json = false;
  std::string only;  ///< Scenarios with these words in their name: "asynchronous 4 one slow link".
  bool peers = false;  ///< A line for each peer besides.
};
/// Runs and prints, a line a scenario; returns how many did not meet their bar.
using Print = std::function<void(const std::string&)>;
int shares_table(const FlowTableOptions& options, const Print& print);
int utilisation_table(const FlowTableOptions& options, const Print& print);

}  // namespace swarm::sim
