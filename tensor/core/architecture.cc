#include "tensor/core/architecture.h"

namespace swarm::tensor {

StagePart stage_part(const ModelOptions& model, int32_t stage, int32_t num_stages) {
  return {stage == 0, stage == num_stages - 1, stage_layers(model, stage, num_stages)};
}

std::vector<ParameterInfo> model_layout(const ModelOptions& model, int32_t stage,
                                        int32_t num_stages) {
  return architecture(model.kind).layout(model, stage_part(model, stage, num_stages));
}

std::vector<ParameterInfo> model_layout(const ModelOptions& model) {
  ModelOptions unsplit = model;
  unsplit.layers_per_stage.clear();
  return model_layout(unsplit, 0, 1);
}

}  // namespace swarm::tensor
