/// A microbatch's way through a stage's blocks, forward and later back. LibTorch; included by .cc files
/// of tensor/ only. Throws what LibTorch throws.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/torch/model.h"
#include "tensor/torch/weight_gradients.h"

namespace swarm::tensor {

/// Either one graph of all, or piece by piece (Model::piece()): then the inputs of all pieces but the
/// first are kept, and a backward makes the graph of one piece at a time.
class BlockPass {
 public:
  using Weights = std::vector<torch::Tensor>;

  BlockPass() = default;
  /// `model` outlives it. `whole`: one graph.
  BlockPass(Model& model, bool whole, int64_t batch, int64_t sequence);

  /// What Model::blocks() gives of `input`, without a graph. `with_graph` keeps that of the last piece,
  /// as a backward that follows at once needs it, or that of all if `whole`.
  torch::Tensor forward(const Weights& weights, const torch::Tensor& input, bool with_graph);

  /// With `seed` the gradient by the output, returns that by `input`, if asked for, and adds those by
  /// the weights to `sums` unless it is null. Once behind a forward with the same input and weights;
  /// where its graph is kept `input` may be undefined.
  torch::Tensor backward(const Weights& weights, const torch::Tensor& input,
                         const torch::Tensor& seed, bool by_input, WeightGradients* sums);

 private:
  torch::Tensor piece(size_t i, const Weights& weights, const torch::Tensor& x) const;

  Model* model_ = nullptr;
  bool whole_ = true;
  int64_t batch_ = 0, sequence_ = 0;
  std::vector<torch::Tensor>
      inputs_;                // of each piece; undefined for the first one and with a graph
  torch::Tensor leaf_, end_;  // of the graph
};

}  // namespace swarm::tensor
