/// What a plan is made from: docs/planner.md, `swarm plan`. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/plan/swarm_model.h"
#include "tensor/core/options.h"

namespace swarm::plan {

/// Machines of one kind.
struct Device {
  std::string name;
  uint32_t count = 1;
  double flops_per_s = 0;   ///< What the model's blocks get, not what the data sheet says.
  double microbatch_s = 0;  ///< A microbatch costs a stage this much more, whatever its size.
  double memory_bytes = 16e9;
  double up_bytes_per_s = 25e6, down_bytes_per_s = 25e6;
  double rtt_s = 0.05;
  double price_per_hour = 0;        ///< Of one.
  double price_per_gb_sent = 0;     ///< 10^9 bytes.
  double preemptions_per_hour = 0;  ///< Of one.
  double restart_s = 60;            ///< From a preemption until a process listens again.
};

/// What the swarm is compared with; its network costs nothing.
struct Reference {
  std::string name;
  uint32_t count = 1;
  double flops_per_s = 0;
  double price_per_hour = 0;
};

struct Job {
  tensor::ModelOptions model;
  tensor::BackwardPolicy backward = tensor::BackwardPolicy::kKeep;
  tensor::ComputeType compute = tensor::ComputeType::kFp32;
  tensor::Codec averaging = tensor::Codec::kNone;
  Mode mode = Mode::kSync;
  uint64_t batch = 64;  ///< Samples of a step; asynchronous: between two averagings.
  bool overlap = true;
  double tokens = 0;  ///< How many are to be trained; 0: not asked.
};

enum class Goal : uint8_t { kTokens, kMoney };

struct Search {
  Goal best = Goal::kTokens;
  std::vector<int32_t> stages;  ///< Empty: all.
  std::vector<uint32_t> microbatch = {1, 2, 4, 8, 16, 32};
  /// Microbatches under way per peer of a stage; empty: what trainers find out by themselves.
  std::vector<uint32_t> in_flight;
  std::vector<tensor::Codec> codecs = {tensor::Codec::kNone, tensor::Codec::kFp16};
};

struct PlanInput {
  Job job;
  Search search;
  std::vector<Device> devices;  ///< At least one.
  std::optional<Reference> reference;
};

}  // namespace swarm::plan
