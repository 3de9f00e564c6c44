/// What `swarm bench overhead` and `swarm bench pipeline` make of their measurements. Pure.
#pragma once

#include <string>
#include <vector>

namespace swarm::apps {

/// A swarm of one peer a stage beside one process that trains the same steps, in the same precision. Rates
/// in tokens per second, one each round.
struct ThroughputFigures {
  int stages = 1;
  std::string precision;  ///< "fp32" or "bf16", of passes.
  int threads = 1;        ///< Of the one process; a peer computes with one.
  std::vector<double> swarm;
  std::vector<double> alone;
};

/// By round: what the swarm reaches of the one process.
std::vector<double> ratios(const ThroughputFigures& figures);

/// A table for people and one JSON object {NAME: [...]}.
std::string throughput_table(const std::vector<ThroughputFigures>& all);
std::string throughput_json(const std::string& name, const std::vector<ThroughputFigures>& all);

}  // namespace swarm::apps
