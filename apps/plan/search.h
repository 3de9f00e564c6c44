/// Looks for the best ways to cut a model over machines: stages x peers x microbatch x in flight x
/// codec, as far as memory allows. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/plan/deal.h"
#include "apps/plan/plan_input.h"

namespace swarm::plan {

struct Choice {
  uint32_t microbatch = 1;
  uint32_t in_flight = 0;  ///< Per peer of a stage, as in Search; 0: found out.
  tensor::Codec codec = tensor::Codec::kNone;
  Deal deal;  ///< Its size is the number of stages.
};

/// What a choice gives.
struct Plan {
  Choice choice;
  Flow flow;
  uint32_t peers = 0;
  uint32_t fewest_replicas = 0, most_replicas = 0;  ///< Of a stage.
  double tokens_per_s = 0;
  double bytes_per_token = 0;  ///< Sent and received by each of the peers that handle it.
  double memory_bytes = 0;     ///< Of the peer that needs most.
  double state_bytes = 0;      ///< Of the largest stage: what a newcomer downloads.
  double money_per_hour = 0;   ///< With what is sent.
  double money_per_token() const {
    return tokens_per_s > 0 ? money_per_hour / 3600 / tokens_per_s : 0;
  }
};

/// `choice` with these machines; nothing if a peer's memory is too small for it.
std::optional<Plan> evaluate(const Job& job, const std::vector<Device>& devices,
                             const Choice& choice);

/// Does a step have a whole number of such microbatches, and may a tensor be so large? Requires a valid
/// model.
bool possible(const Job& job, uint32_t microbatch);

struct Found {
  /// The best one for each number of stages and codec, best first.
  std::vector<Plan> plans;
  /// The fewest peers that are as fast as the reference.
  std::optional<Plan> equal;
  /// If there are no plans: the least memory that the largest machine would need [bytes].
  double least_memory_bytes = 0;
};
/// Requires valid input.
Found search(const PlanInput& input);

/// Does `a` come before `b`? Of equal ones the cheaper, then the one with fewer peers, less memory and
/// fewer stages.
bool better(const Plan& a, const Plan& b, Goal goal);

/// Of the reference [tokens/s].
double tokens_per_s(const Reference& reference, const tensor::ModelOptions& model);

}  // namespace swarm::plan
