#include "tensor/torch/block_loss.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "tensor/core/block_sizes.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;

/// Adds the gradients of a block's loss by its rows, into `by_rows`, and by the weights.
void pull_block(const Tensor& loss, const std::vector<Tensor>& weights, const Tensor& leaf,
                Tensor by_rows, WeightGradients* sums) {
  std::vector<Tensor> inputs;
  if (sums != nullptr) inputs = weights;
  inputs.push_back(leaf);
  const auto found = torch::autograd::grad({loss}, inputs, {}, {},
                                           /*create_graph=*/false, /*allow_unused=*/true);
  at::NoGradGuard guard;
  by_rows.copy_(found.back());
  if (sums != nullptr) sums->add(found);
}

}  // namespace

int64_t rows_of_block(int64_t vocabulary) {
  const auto row = static_cast<uint64_t>(vocabulary) * sizeof(float);
  return static_cast<int64_t>(std::max<uint64_t>(1, kLogitsOfBlock / row));
}

double loss_in_blocks(const Model& model, const std::vector<Tensor>& weights, const Tensor& rows,
                      const Tensor& targets, double divisor, int64_t rows_of_block,
                      LossGradients* out) {
  at::AutoGradMode mode(out != nullptr);
  if (out != nullptr) out->by_rows = torch::empty_like(rows);
  double sum = 0;
  for (int64_t begin = 0; begin < rows.size(0); begin += rows_of_block) {
    const int64_t count = std::min(rows_of_block, rows.size(0) - begin);
    Tensor block = rows.narrow(0, begin, count).detach();
    if (out != nullptr) block.requires_grad_();
    const Tensor loss =
        torch::cross_entropy_loss(model.logits(weights, block), targets.narrow(0, begin, count), {},
                                  at::Reduction::Sum) /
        divisor;
    sum += loss.item<float>();
    if (!std::isfinite(sum)) break;
    if (out != nullptr)
      pull_block(loss, weights, block, out->by_rows.narrow(0, begin, count), out->weights);
  }
  return sum;
}

}  // namespace swarm::tensor
