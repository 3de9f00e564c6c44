/// What a stage of a model costs: operations, bytes on links, memory. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/plan/plan_input.h"

namespace swarm::plan {

/// Of one microbatch at one stage, both passes, unless it says otherwise.
struct StageWork {
  double flops = 0;
  double up_bytes = 0, down_bytes = 0;
  double averaged_bytes = 0;  ///< The stage's vector as averages travel.
  double state_bytes = 0;     ///< What a newcomer downloads.
  double fixed_bytes = 0;     ///< Memory of a peer without any microbatch waiting.
  double resident_bytes = 0;  ///< And of each microbatch under way there.
};

/// Floating-point operations of a forward pass of one block over one token, a multiplication and an
/// addition as two.
double block_flops(const tensor::ModelOptions& model);
/// Of the whole model, forward and backward, nothing computed twice.
double flops_per_token(const tensor::ModelOptions& model);

/// Parameters of each stage. Requires a valid model of at least so many blocks.
std::vector<uint64_t> parameters(const tensor::ModelOptions& model, int32_t stages);

/// `parameters` as above; one entry a stage.
std::vector<StageWork> stage_work(const Job& job, const std::vector<uint64_t>& parameters,
                                  uint32_t microbatch, tensor::Codec codec);

}  // namespace swarm::plan
