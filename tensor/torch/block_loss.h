/// The loss of the last stage without the logits of all tokens at once. LibTorch; included by .cc files
/// of tensor/ only. Throws what LibTorch throws.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "tensor/torch/model.h"
#include "tensor/torch/weight_gradients.h"

namespace swarm::tensor {

/// Gradients of the loss.
struct LossGradients {
  torch::Tensor by_rows;               ///< [N, D]
  WeightGradients* weights = nullptr;  ///< Are added here, unless null.
};

/// Tokens whose logits are there at a time (kLogitsOfBlock).
int64_t rows_of_block(int64_t vocabulary);

/// Sum of the cross-entropy of `rows` [N, D], which model.logits() takes, with `targets` int64 [N],
/// divided by `divisor`; not finite, and then without gradients, if any block's is. Each block's
/// gradients are made where its logits are, since nothing comes behind the loss. `out` is null:
/// none are.
double loss_in_blocks(const Model& model, const std::vector<torch::Tensor>& weights,
                      const torch::Tensor& rows, const torch::Tensor& targets, double divisor,
                      int64_t rows_of_block, LossGradients* out);

}  // namespace swarm::tensor
