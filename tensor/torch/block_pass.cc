#include "tensor/torch/block_pass.h"

#include <torch/torch.h>

namespace swarm::tensor {
namespace {

using torch::Tensor;

/// Tokens have no gradient.
Tensor leaf_of(const Tensor& x) {
  Tensor leaf = x.detach();
  return leaf.is_floating_point() ? leaf.requires_grad_() : leaf;
}

}  // namespace

BlockPass::BlockPass(Model& model, bool whole, int64_t batch, int64_t sequence)
    : model_(&model),
      whole_(whole),
      batch_(batch),
      sequence_(sequence),
      inputs_(whole ? 1 : static_cast<size_t>(model.pieces())) {}

Tensor BlockPass::piece(size_t i, const Weights& weights, const Tensor& x) const {
  return whole_ ? model_->blocks(weights, x, batch_, sequence_)
                : model_->piece(static_cast<int32_t>(i), weights, x, batch_, sequence_);
}

Tensor BlockPass::forward(const Weights& weights, const Tensor& input, bool with_graph) {
  Tensor x = input;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const bool graph = with_graph && i + 1 == inputs_.size();
    at::AutoGradMode mode(graph);
    if (graph) x = leaf_ = leaf_of(x);
    if (!graph && i > 0) inputs_[i] = x;
    x = piece(i, weights, x);
    if (graph) end_ = x;
  }
  return x.detach();
}

Tensor BlockPass::backward(const Weights& weights, const Tensor& input, const Tensor& seed,
                           bool by_input, WeightGradients* sums) {
  if (!by_input && sums == nullptr) return {};
  at::AutoGradMode mode(true);
  Tensor gradient = seed;
  for (size_t i = inputs_.size(); i-- > 0;) {
    if (!end_.defined()) {
      leaf_ = leaf_of(i == 0 ? input : inputs_[i]);
      inputs_[i].reset();
      end_ = piece(i, weights, leaf_);
    }
    const bool by_leaf = i > 0 || by_input;
    std::vector<Tensor> by;
    if (sums != nullptr) by = weights;
    if (by_leaf) by.push_back(leaf_);
    if (by.empty()) break;
    const auto found = torch::autograd::grad({end_}, by, {gradient}, {},
                                             /*create_graph=*/false, /*allow_unused=*/true);
    end_.reset();
    leaf_.reset();
    if (sums != nullptr) sums->add(found);
    gradient = by_leaf ? found.back() : Tensor();
  }
  return gradient;
}

}  // namespace swarm::tensor
