/// How fast a swarm is, from what its peers take for a microbatch: docs/planner.md derives it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::plan {

/// When replicas average, and who waits for it.
enum class Mode : uint8_t {
  kSync,        ///< Gradients at the end of each step, which everybody waits for.
  kDelayed,     ///< The same beside the next step.
  kAsync,       ///< Weights at the end of each period; stages wait.
  kBackground,  ///< The same, and nobody waits.
};
const std::vector<std::string>& mode_names();

/// Equal peers of a stage.
struct Peers {
  uint32_t count = 1;
  double compute_s = 0;            ///< Both passes of a microbatch.
  double up_s = 0, down_s = 0;     ///< Its activations and gradients, sent and received.
  double rtt_s = 0;                ///< To the peers of other stages, there and back.
  double up_bytes_per_s = 1e15;    ///< For averaging.
  double down_bytes_per_s = 1e15;  ///< For averaging.
  double most_resident = 1e15;     ///< Microbatches under way that its memory has room for.
  double preemptions_per_s = 0;
  double away_s = 0;  ///< From a preemption until it serves again.
};

struct StagePeers {
  std::vector<Peers> peers;   ///< At least one.
  double averaged_bytes = 0;  ///< What replicas average, as it travels.
};

struct SwarmModel {
  std::vector<StagePeers> stages;
  Mode mode = Mode::kBackground;
  double microbatches = 64;  ///< Of a step, or between two averagings.
  /// Of the whole swarm; 0: as many as trainers find out by themselves, if memory has room for them.
  double in_flight = 0;
  /// false: a peer does one thing at a time and waits for each reply, as in the paper's measurement.
  bool overlap = true;
};

/// What takes most of a step.
enum class Bound : uint8_t { kCompute, kUplink, kDownlink, kLatency, kAveraging, kFill };
const char* to_string(Bound bound);

struct Flow {
  double step_s = 0;       ///< Of a step, or of a period.
  double work_s = 0;       ///< Of it: microbatches flow.
  double fill_s = 0;       ///< Of it: the pipeline fills and drains, and the step is closed.
  double averaging_s = 0;  ///< A round of the slowest stage, whether or not anybody waits for it.
  double latency_s = 0;    ///< Of a microbatch that meets no other.
  double in_flight = 0;
  double utilisation = 0;  ///< Part of their time that peers compute, on average.
  double lost = 0;         ///< Part of their time that preemptions take, on average.
  Bound bound = Bound::kCompute;
};

/// Requires at least one stage, and microbatches above 0.
Flow flow(const SwarmModel& swarm);

/// In flight of the whole swarm, at most, so that each peer's memory has room for its share.
double most_in_flight(const SwarmModel& swarm);

}  // namespace swarm::plan
