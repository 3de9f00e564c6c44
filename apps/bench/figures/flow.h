/// A swarm whose computers and links have given speeds: who gets how much of the work, and how much of
/// what the narrowest stage could carry is carried (docs/performance.md). Measured in virtual time
/// (apps/sim/flow.h) or with processes (apps/bench/process_flow.h). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "routing/wiring/occupancy.h"

namespace swarm::apps {

/// What one microbatch takes of one peer; 0: no time.
struct FlowPeer {
  double compute_s = 0.1;  ///< Both passes.
  /// Of a microbatch in the middle of the pipeline, whose activations and gradients both travel.
  double up_s = 0, down_s = 0;
  double away_s = 0;  ///< From everybody, one way, beyond FlowScenario::way_s.
  bool absent = false;
};

struct FlowScenario {
  std::string name;
  std::vector<std::vector<FlowPeer>> stages;
  uint32_t trainers = 2;
  double way_s = 0.001;        ///< Between any two nodes, one way.
  bool asynchronous = true;    ///< With background averaging; else synchronous.
  uint32_t microbatches = 64;  ///< Of a step, or of a period.
  routing::WiringCost cost = routing::WiringCost::kOccupancy;
  std::optional<uint32_t> in_flight;  ///< As TrainerOptions::max_in_flight.
  double settle_s = 60, measured_s = 120;
  uint64_t seed = 1;
};

/// "stage1-a".
std::string flow_peer_name(size_t stage, size_t peer);

/// `work(stage, name, peer)` for each that is not absent.
template <class F>
void each_peer(const FlowScenario& scenario, F work) {
  for (size_t stage = 0; stage < scenario.stages.size(); ++stage)
    for (size_t peer = 0; peer < scenario.stages[stage].size(); ++peer)
      if (!scenario.stages[stage][peer].absent)
        work(stage, flow_peer_name(stage, peer), scenario.stages[stage][peer]);
}

/// What a machine limits the figures by, where they are measured with processes.
struct FlowMachine {
  double cpu = 0;                ///< Part of all its cores that was in use.
  std::optional<double> loss{};  ///< At the end [nats per token].
  std::string folder{};          ///< Of the run.
};

struct FlowResult {
  struct Peer {
    std::string name;
    double capacity = 0;  ///< Microbatches/s that it could carry.
    double carried = 0;   ///< Microbatches/s.
    double share = 0;     ///< Of what its stage carried.
    double fair = 0;      ///< Of its stage's capacity.
  };
  std::vector<std::vector<Peer>> stages;  ///< Absent peers are not among them.
  double carried = 0;                     ///< Microbatches/s of the whole swarm.
  double capacity = 0;                    ///< The smallest sum of the capacities of a stage.
  /// What could be carried at most. Asynchronous: `capacity`. Synchronous: of whole microbatches, in
  /// steps in which the pipeline has to fill and to drain, with nothing but the quickest peers' work
  /// and the way there, and which end by five mails one after another.
  double bound = 0;
  std::optional<FlowMachine> machine;

  double of_bound() const { return bound > 0 ? carried / bound : 0; }
  double of_capacity() const { return capacity > 0 ? carried / capacity : 0; }
  /// The largest part by which a peer's share differs from its stage's capacity.
  double worst_share() const;
};

/// The rest of a result of which each peer has its name, capacity (above 0) and what it carried. The
/// stages and peers of both are the same, but that absent ones are left out of the result.
void complete(FlowResult& result, const FlowScenario& scenario);

}  // namespace swarm::apps
