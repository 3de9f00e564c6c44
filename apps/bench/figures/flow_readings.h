/// What consoles of a swarm's nodes and this machine say at the two ends of a measured time, and what
/// FlowResult follows from it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/figures/flow.h"
#include "records/metrics.h"

namespace swarm::apps {

/// `actor stage.0` of a peer.
struct FlowPeerReading {
  double at_s = 0;        ///< On a clock that all readings share.
  uint64_t forwards = 0;  ///< Microbatches that it has taken.
};

/// Computing and waiting of all cores since the machine began, in its own units.
struct CpuReading {
  uint64_t busy = 0, all = 0;
};

struct FlowReadings {
  std::map<std::string, FlowPeerReading> peers;  ///< By name.
  /// By name: compute seconds of a microbatch, as each sender was told last.
  std::map<std::string, std::vector<double>> compute_s;
  CpuReading cpu;
};

/// The forwards that a peer's text tells; nothing if it is none.
std::optional<uint64_t> read_forwards(const std::string& text);
/// Adds what a sender's text (a trainer's, a peer's) tells of the stage after it.
void read_told(const std::string& text, FlowReadings& readings);
/// The first line of /proc/stat. What gives way to others (niced) counts as free.
std::optional<CpuReading> read_cpu(const std::string& line);

/// The mean over the steps that closed from `from_s` on (unix time), weighted evenly.
std::optional<double> mean_loss(const std::vector<records::StepMetrics>& lines, double from_s);

/// What a peer can carry follows from its compute (the median of what it told; if nobody knows, the
/// scenario's) and its link's rate. `before` and `after` have every peer of the scenario.
FlowResult flow_result(const FlowScenario& scenario, const FlowReadings& before,
                       const FlowReadings& after);

}  // namespace swarm::apps
