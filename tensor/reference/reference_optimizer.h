/// The one-process reference's optimizers: LibTorch's own AdamW, and NAG and LAMB (which LibTorch
/// lacks) in operations on whole tensors. Shares nothing with tensor/core/optimizer.h but the formulas in its
/// comment. LibTorch; included by .cc files of tensor/ only. Throws what LibTorch throws.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/core/options.h"

namespace swarm::tensor {

/// What an optimizer remembers of one parameter.
struct ReferenceMoments {
  uint64_t updates = 0;
  double momentum_product = 1;
  /// Of the parameter's shape, in the order of OptimizerInfo::moments; zeros before the first update.
  std::vector<torch::Tensor> values;
};

class ReferenceOptimizer {
 public:
  virtual ~ReferenceOptimizer() = default;
  /// One update of all parameters with the gradients that they hold.
  virtual void step(double learning_rate) = 0;
  /// The state of a parameter that it was made with.
  virtual ReferenceMoments moments(const torch::Tensor& parameter) const = 0;
  virtual void set_moments(const torch::Tensor& parameter, const ReferenceMoments& moments) = 0;
};

/// For the leaves `decayed` and `plain`, which get no weight decay. Requires valid options.
std::unique_ptr<ReferenceOptimizer> make_reference_optimizer(
    const OptimizerOptions& options, const std::vector<torch::Tensor>& decayed,
    const std::vector<torch::Tensor>& plain);

}  // namespace swarm::tensor
