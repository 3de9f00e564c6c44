/// Nodes that come and go, as on a spot market: drawn from a profile and a seed. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::apps {

/// A part of a trace in which chances stay as they are. All of them are Poisson processes.
struct ChurnPhase {
  double until_h = 0;       ///< Since the trace's beginning.
  double hazard_per_h = 0;  ///< Of a node to be taken away, alone.
  double joins_per_h = 0;   ///< Nodes that come.
  double bursts_per_h = 0;  ///< In which a zone loses `burst_share` of its nodes at one moment.
  double burst_share = 0;
};

struct ChurnProfile {
  std::string name;
  uint32_t peers = 0;  ///< At the beginning, spread evenly over the stages.
  uint32_t stages = 0;
  std::vector<ChurnPhase> phases;

  double hours() const { return phases.back().until_h; }
};

/// Nodes belong to zones by their numbers.
constexpr uint32_t kChurnZones = 4;

/// Nodes are numbered in the order in which they come, from 0; each leaves at most once.
struct ChurnEvent {
  double at_s = 0;
  uint32_t node = 0;
  bool joins = false;  ///< Else it is gone, without a word.
};

struct ChurnTrace {
  std::vector<ChurnEvent> events;  ///< Ascending in time; those at the beginning come at 0 s.
  uint32_t nodes = 0;
};

/// The same profile and seed give the same trace.
ChurnTrace draw_trace(const ChurnProfile& profile, uint64_t seed);

/// 32 h with 4 stages: a calm beginning, a day on which nodes come and go, three hours in which the
/// market takes most of them back, and three in which the rest goes on.
ChurnProfile day_profile();
/// 32 h with 128 peers, 32 stages, a hazard of 0.3/h and as many nodes that come.
ChurnProfile stress_profile();
/// 32 h with so many peers and stages, a hazard of 0.1/h, as many nodes that come, and bursts.
ChurnProfile size_profile(uint32_t peers, uint32_t stages);

}  // namespace swarm::apps
