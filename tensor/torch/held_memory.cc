#include "tensor/torch/held_memory.h"

#include <torch/torch.h>

#include <limits>

#include "tensor/core/flat.h"

namespace swarm::tensor {

uint64_t HeldMemory::sum_checksum() const {
  const torch::Tensor& sum = of_.gradients_;
  if (sum.is_cpu()) return word_sum(sum.data_ptr<float>(), of_.size_);
  return static_cast<uint64_t>(sum.view(torch::kInt32).sum().item<int64_t>());
}

void HeldMemory::flip_bit(StatePart part) {
  const uint64_t middle = of_.size_ / 2;
  if (part == StatePart::kMoments) return flip_low_bit(of_.optimizer_->moments()[middle]);
  if (part == StatePart::kParameters)
    return flip_low_bit(const_cast<float*>(of_.versions_.values())[middle]);
  torch::Tensor place = of_.gradients_.narrow(0, static_cast<int64_t>(middle), 1);
  torch::Tensor value = place.to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true);
  if (part == StatePart::kContribution)
    *value.data_ptr<float>() = std::numeric_limits<float>::quiet_NaN();
  else
    flip_low_bit(*value.data_ptr<float>());
  place.copy_(value);
}

}  // namespace swarm::tensor
