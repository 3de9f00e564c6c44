#include "tensor/torch/weight_gradients.h"

#include <torch/torch.h>

namespace swarm::tensor {

void WeightGradients::add(const std::vector<torch::Tensor>& found) {
  at::NoGradGuard guard;
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (!found[i].defined()) continue;
    // The first one may share its memory with others, so the second one makes a sum of its own.
    if (added_[i] == 0)
      sums_[i] = found[i];
    else if (added_[i] == 1)
      sums_[i] = sums_[i].to(torch::kFloat32) + found[i];
    else
      sums_[i].add_(found[i]);
    ++added_[i];
  }
}

}  // namespace swarm::tensor
