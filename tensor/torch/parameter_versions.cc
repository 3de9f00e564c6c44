#include "tensor/torch/parameter_versions.h"

#include <torch/torch.h>

#include <atomic>
#include <utility>

namespace swarm::tensor {

ParameterVersions::ParameterVersions(const std::vector<ParameterInfo>& layout, ComputeType compute,
                                     torch::Device device)
    : layout_(layout),
      compute_(compute),
      device_(device),
      size_(layout_size(layout)),
      current_(make()) {}

ParameterVersions::Held ParameterVersions::make() const {
  auto version = std::make_shared<Version>();
  version->memory_ = MutableBuffer::allocate(size_ * sizeof(float));
  at::NoGradGuard guard;
  // The tensors share the memory's owner: graphs stay valid even if they outlive the version.
  torch::Tensor flat = torch::from_blob(
      version->memory_.data(), {static_cast<int64_t>(size_)},
      [owner = version->memory_.owner()](void*) {}, torch::kFloat32);
  for (const ParameterInfo& info : layout_) {
    const auto offset = static_cast<int64_t>(info.offset), size = static_cast<int64_t>(info.size);
    torch::Tensor view = flat.narrow(0, offset, size).view(info.shape);
    version->weights_.push_back(view.detach().requires_grad_());
  }
  return version;
}

Buffer ParameterVersions::share() const {
  return {current_, current_->memory_.data(), size_ * sizeof(float)};
}

const std::vector<torch::Tensor>& ParameterVersions::weights(const Held& version) const {
  if (compute_ == ComputeType::kFp32 && device_.is_cpu()) return version->weights_;
  if (!version->computed_.empty()) return version->computed_;
  at::NoGradGuard guard;
  for (size_t i = 0; i < layout_.size(); ++i) {
    const bool wide = compute_ == ComputeType::kFp32 || layout_[i].always_fp32;
    const auto type = wide ? torch::kFloat32 : torch::kBFloat16;
    torch::Tensor weight = version->weights_[i].detach().to(device_, type);
    version->computed_.push_back(weight.requires_grad_());
  }
  return version->computed_;
}

void ParameterVersions::change(const std::function<void(const float* from, float* to)>& write) {
  const float* from = current_->values();
  ++changes_;
  if (current_.use_count() == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);  // what the last holder read is behind us
    write(from, reinterpret_cast<float*>(current_->memory_.data()));
    current_->computed_.clear();
    return;
  }
  Held next = make();
  write(from, reinterpret_cast<float*>(next->memory_.data()));
  current_ = std::move(next);
}

}  // namespace swarm::tensor
