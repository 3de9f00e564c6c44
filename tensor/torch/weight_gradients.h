/// Gradients by a stage's weights that come in parts. LibTorch; included by .cc files of tensor/ only.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <vector>

namespace swarm::tensor {

/// One sum a weight, in the order of the layout; undefined as long as nothing was added to it. What is
/// added once stays what it is; a sum of more is float32, whatever is computed with.
class WeightGradients {
 public:
  explicit WeightGradients(size_t count) : sums_(count), added_(count) {}

  /// The first of `found` are by the weights, in their order; undefined: it has no part in it.
  void add(const std::vector<torch::Tensor>& found);
  const std::vector<torch::Tensor>& sums() const { return sums_; }

 private:
  std::vector<torch::Tensor> sums_;
  std::vector<size_t> added_;  // gradients in each sum
};

}  // namespace swarm::tensor
