#include "tensor/torch/device.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "tensor/core/options.h"

namespace swarm::tensor {

Status check_device(const std::string& name) {
  auto device = parse_device(name);
  if (!device) return device.error();
  if (!device->cuda) return {};
  const auto found = static_cast<int>(torch::cuda::device_count());
  if (device->index < found) return {};
  const std::string there = found == 0
                                ? "this LibTorch sees no GPU (Debian's is built for CPUs only)"
                                : fmt::format("there are GPUs 0 to {}", found - 1);
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("device \"{}\": {}; set node.device = \"cpu\" or another GPU", name, there), 0};
}

}  // namespace swarm::tensor
