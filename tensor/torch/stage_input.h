/// What enters a stage, checked and on its device. LibTorch; included by .cc files of tensor/ only.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "common/result.h"
#include "tensor/core/options.h"
#include "tensor/core/stage.h"

namespace swarm::tensor {

/// A microbatch that passed all checks, on the stage's device.
struct CheckedInput {
  int64_t batch = 0, sequence = 0;
  torch::Tensor
      input;  // int64 [B, T] in the first stage, else float32 [B * T, W], W = boundary_width()
  torch::Tensor targets;  // int64 [B * T]; last stage
};

/// Errors: kInvalidArgument (sizes beyond the model's, a token out of range, activations at the first
/// stage), kShapeMismatch, kNonFinite (activations). Throws what LibTorch throws.
Result<CheckedInput> check_input(const StageOptions& options, torch::Device device,
                                 const StageInput& input);

/// Is `meta`, called `what` in the error, [B, T, W]? Errors: kShapeMismatch.
Status check_shape(const StageOptions& options, const char* what, const proto::Tensor& meta,
                   int64_t batch, int64_t sequence);

}  // namespace swarm::tensor
