#include "tensor/core/memory_options.h"

#include <algorithm>

#include "tensor/core/architecture.h"
#include "tensor/core/block_sizes.h"
#include "tensor/core/codec.h"

namespace swarm::tensor {
namespace {

/// Of a sample, the inputs of all applications of the stage's blocks but the first, in float32.
uint64_t inputs_bytes(const ModelOptions& model, int32_t stage, int32_t num_stages) {
  const auto applied = static_cast<uint64_t>(stage_layers(model, stage, num_stages).count) *
                       static_cast<uint64_t>(model.repeats);
  const auto numbers = static_cast<uint64_t>(model.sequence) * static_cast<uint64_t>(model.width);
  return (applied - 1) * numbers * sizeof(float);
}

}  // namespace

uint64_t stage_parameters(const ModelOptions& model, int32_t stage, int32_t num_stages) {
  return layout_size(model_layout(model, stage, num_stages));
}

uint64_t kept_bytes_per_sample(const ModelOptions& model, int32_t stage, int32_t num_stages,
                               BackwardPolicy backward) {
  if (stage == num_stages - 1) return 0;
  if (backward == BackwardPolicy::kRecompute) return inputs_bytes(model, stage, num_stages);
  const uint64_t blocks =
      graph_bytes_per_sample(model, stage_layers(model, stage, num_stages).count);
  if (model.boundary == Boundary::kNone) return blocks;
  // Inputs of both norms and, in a bottleneck, of the matrix that narrows; what was received.
  const auto width = static_cast<uint64_t>(model.width);
  const auto narrow = static_cast<uint64_t>(boundary_width(model));
  const uint64_t per_token = 2 * width + narrow + (stage > 0 ? narrow : 0);
  return blocks + static_cast<uint64_t>(model.sequence) * per_token * sizeof(float);
}

uint64_t backward_bytes_per_sample(const ModelOptions& model, int32_t stage, int32_t num_stages,
                                   BackwardPolicy backward) {
  if (backward == BackwardPolicy::kKeep)
    return graph_bytes_per_sample(model, stage_layers(model, stage, num_stages).count);
  const uint64_t once = graph_bytes_per_sample(model, 1) / static_cast<uint64_t>(model.repeats);
  return once + (stage == num_stages - 1 ? inputs_bytes(model, stage, num_stages) : 0);
}

uint64_t loss_bytes(const ModelOptions& model, uint64_t samples) {
  const uint64_t row = static_cast<uint64_t>(model.vocabulary) * sizeof(float);
  const uint64_t all = samples * static_cast<uint64_t>(model.sequence) * row;
  return 3 * std::min(all, std::max(row, kLogitsOfBlock));
}

uint64_t version_bytes_per_parameter(ComputeType compute, const Device& device) {
  constexpr uint64_t kFloat = sizeof(float), kHalf = 2;
  if (compute == ComputeType::kBf16) return kFloat + kHalf;
  return device.cuda ? 2 * kFloat : kFloat;
}

uint64_t boundary_bytes_per_sample(const ModelOptions& model, Codec activations, Codec gradients) {
  const auto n =
      static_cast<uint64_t>(model.sequence) * static_cast<uint64_t>(boundary_width(model));
  return std::max(codec_info(activations).bytes(n), codec_info(gradients).bytes(n));
}

}  // namespace swarm::tensor
