#include "tensor/core/architecture.h"

#include <algorithm>
#include <utility>

namespace swarm::tensor {

StagePart stage_part(const ModelOptions& model, int32_t stage, int32_t num_stages) {
  return {stage == 0, stage == num_stages - 1, stage_layers(model, stage, num_stages), stage};
}

std::vector<ParameterInfo> model_layout(const ModelOptions& model, int32_t stage,
                                        int32_t num_stages) {
  return architecture(model.kind).layout(model, stage_part(model, stage, num_stages));
}

std::vector<ParameterInfo> model_layout(const ModelOptions& model) {
  const auto stages = static_cast<int32_t>(std::max<size_t>(1, model.layers_per_stage.size()));
  std::vector<ParameterInfo> whole;
  for (int32_t stage = 0; stage < stages; ++stage) {
    const uint64_t begin = layout_size(whole);
    for (ParameterInfo& info : model_layout(model, stage, stages)) {
      info.offset += begin;
      whole.push_back(std::move(info));
    }
  }
  return whole;
}

}  // namespace swarm::tensor
