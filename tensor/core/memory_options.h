/// What options of a stage cost in memory: for admission by bytes and for the checks of experiment files.
///
/// Pure and thread-safe. All require valid arguments, as stage_layers().
#pragma once

#include <cstdint>

#include "tensor/core/options.h"

namespace swarm::tensor {

/// Parameters of one stage.
uint64_t stage_parameters(const ModelOptions& model, int32_t stage, int32_t num_stages);

/// What a stage keeps of a sample between forward and backward beside what travels [bytes]. The last
/// one keeps nothing: forward and backward are one visit.
uint64_t kept_bytes_per_sample(const ModelOptions& model, int32_t stage, int32_t num_stages,
                               BackwardPolicy backward);

/// Of a version of the parameters that a kept graph holds [bytes a parameter]: float32, and what is
/// computed with where that is something else (bf16, or a copy on a GPU).
uint64_t version_bytes_per_parameter(ComputeType compute, const Device& device);

/// Of one sample, the activations that a stage sends on or their gradient that comes back, whichever
/// takes more as it travels [bytes].
uint64_t boundary_bytes_per_sample(const ModelOptions& model, Codec activations, Codec gradients);

}  // namespace swarm::tensor
