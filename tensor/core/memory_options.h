/// What options of a stage cost in memory: for admission by bytes and for the checks of experiment files.
///
/// Pure and thread-safe. All require valid arguments, as stage_layers().
#pragma once

#include <cstdint>

#include "tensor/core/options.h"

namespace swarm::tensor {

/// Parameters of one stage.
uint64_t stage_parameters(const ModelOptions& model, int32_t stage, int32_t num_stages);

/// What a stage keeps of a sample between forward and backward beside what travels [bytes]: its graph,
/// or with kRecompute the inputs of all applications of its blocks but the first. The last one keeps
/// nothing: forward and backward are one visit.
uint64_t kept_bytes_per_sample(const ModelOptions& model, int32_t stage, int32_t num_stages,
                               BackwardPolicy backward);

/// What a stage holds of a sample while its backward runs, the last one its whole visit [bytes]: the
/// graph of all its blocks, or with kRecompute of one application of one, to which the last stage adds the
/// other ones' inputs.
uint64_t backward_bytes_per_sample(const ModelOptions& model, int32_t stage, int32_t num_stages,
                                   BackwardPolicy backward);

/// What the loss of a microbatch holds beside its input and gradients: logits, their softmax and its
/// gradient of as many tokens as are there at a time [bytes].
uint64_t loss_bytes(const ModelOptions& model, uint64_t samples);

/// Of a version of the parameters that a kept graph holds [bytes a parameter]: float32, and what is
/// computed with where that is something else (bf16, or a copy on a GPU).
uint64_t version_bytes_per_parameter(ComputeType compute, const Device& device);

/// Of one sample, the activations that a stage sends on or their gradient that comes back, whichever
/// takes more as it travels [bytes].
uint64_t boundary_bytes_per_sample(const ModelOptions& model, Codec activations, Codec gradients);

}  // namespace swarm::tensor
