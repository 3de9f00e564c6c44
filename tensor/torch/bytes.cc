#include "tensor/torch/bytes.h"

#include <torch/torch.h>

#include <memory>

#include "common/check.h"
#include "tensor/core/flat.h"
#include "tensor/core/options.h"

namespace swarm::tensor {

Buffer share(const torch::Tensor& tensor) {
  auto owner = std::make_shared<const torch::Tensor>(tensor);
  return {owner, tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel()) * sizeof(float)};
}

torch::Tensor view_of(const Buffer& values, at::IntArrayRef shape) {
  auto* data = const_cast<uint8_t*>(values.data());
  return torch::from_blob(
      data, shape, [values](void*) {}, torch::kFloat32);
}

bool all_finite(const torch::Tensor& tensor) {
  if (!tensor.is_cpu()) return torch::isfinite(tensor).all().item<bool>();
  const torch::Tensor values =
      tensor.scalar_type() == torch::kFloat32 ? tensor : tensor.to(torch::kFloat);
  if (!values.is_contiguous()) return torch::isfinite(values).all().item<bool>();
  return all_finite(values.data_ptr<float>(), static_cast<size_t>(values.numel()));
}

torch::Device torch_device(const std::string& name) {
  const auto device = parse_device(name);
  SWARM_CHECK(device.ok());
  return device->cuda ? torch::Device(torch::kCUDA, device->index) : torch::Device(torch::kCPU);
}

}  // namespace swarm::tensor
