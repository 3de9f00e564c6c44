/// One simulated run of a whole swarm under faults, all drawn from one seed, with the protocol's
/// invariants checked throughout (docs/simulation.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/averaging/options.h"
#include "apps/sim/checks.h"
#include "apps/sim/faults.h"
#include "apps/sim/traffic_report.h"

namespace swarm::sim {

constexpr uint32_t kMostNodes = 400, kLargeSwarm = 64;
constexpr uint32_t kMostStages = 16;
/// Beyond it sums of the arithmetic stages would not be exact.
constexpr uint32_t kMostSteps = 40;

struct SimulationOptions {
  uint64_t seed = 1;
  FaultProfile profile = FaultProfile::kAll;
  uint32_t nodes = 0;  ///< 4 to kMostNodes, trainers included; 0: drawn, 5 to 12, seldom up to 64.
  /// Up to kMostStages; with it, and beyond kLargeSwarm nodes, the swarm is a large one: batch and
  /// trainers grow with the nodes, each of which joins through 4 others. 0: drawn, or 8.
  uint32_t stages = 0;
  uint32_t steps = 0;    ///< Up to kMostSteps; 0: drawn.
  bool traffic = false;  ///< Counts what nodes say; changes nothing else.
  /// "STEP:SLOT": a deliberate defect, to show that the checks find it (FaultOptions).
  std::string drop_gradient;
  bool delayed_updates = false;  ///< As TrainingOptions.
  bool asynchronous = false;     ///< training.mode "async"; without delayed_updates.
  actors::Topology topology = actors::Topology::kAuto;  ///< Of averaging.
  tensor::Codec averaging = tensor::Codec::kNone;       ///< Its codec; none if asynchronous.
  uint64_t max_faults = ~0ull;  ///< Only the first so many of those that the seed draws.
};

struct SimulationReport {
  uint64_t seed = 0;
  FaultProfile profile = FaultProfile::kAll;
  std::optional<Violation> violation;
  uint64_t hash = 0;                ///< Over all events: equal for equal options.
  std::vector<std::string> events;  ///< One line each, in order.
  bool delayed_updates = false, asynchronous = false;  ///< As SimulationOptions.
  tensor::Codec averaging = tensor::Codec::kNone;      ///< Likewise.
  double virtual_s = 0;
  uint64_t mail = 0;            ///< Pieces of mail handled by actors.
  uint64_t faults = 0;          ///< Carried out.
  uint64_t max_faults = ~0ull;  ///< As SimulationOptions.
  uint64_t recoveries = 0;
  uint64_t moves = 0;     ///< Of peers, to another stage or their first, that came to an end.
  uint64_t given_up = 0;  ///< Others.
  /// When the last step was done; nothing: it was not.
  std::optional<double> last_step_s;
  /// The last copies of a stage left with nodes that never come back, and the swarm stood still: no
  /// violation, nobody could go on. For people; "" otherwise.
  std::string lost_stage;
  std::vector<std::string> traffic;  ///< Lines for people; empty unless asked for.
  /// Of a node while training; none unless asked for, or if there was one step only.
  std::optional<NodeTraffic> training;
};

/// Runs to the end, or to the first violation. Requires what SimulationOptions says, at least two
/// nodes more than stages, and not both modes.
SimulationReport simulate(const SimulationOptions& options);

/// The same run with as few of its first faults as still violate something: the shortest story.
/// Requires that simulate(options) violates something.
SimulationReport simulate_shortest(const SimulationOptions& options);

/// For people: what was violated, and the last events before it, the faults among the earlier ones
/// included. Requires report.violation.
std::string explain(const SimulationReport& report, size_t tail = 40);

}  // namespace swarm::sim
