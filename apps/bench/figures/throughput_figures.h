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
  /// Of the one process with one thread, where it has more: `threads` times that is what so many cores do
  /// of this model when nothing waits for another, so no swarm on them reaches more.
  std::vector<double> one_thread{};
};

/// By round: what the swarm reaches of the one process.
std::vector<double> ratios(const ThroughputFigures& figures);

/// By round: what it could reach of that; empty where the one process has one thread.
std::vector<double> bounds(const ThroughputFigures& figures);

/// A table for people and one JSON object {NAME: [...]}.
std::string throughput_table(const std::vector<ThroughputFigures>& all);
std::string throughput_json(const std::string& name, const std::vector<ThroughputFigures>& all);

}  // namespace swarm::apps
