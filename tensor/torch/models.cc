// The table of models that compute, by ModelKind: in the order of tensor/models.cc.
#include "common/check.h"
#include "tensor/torch/model.h"

namespace swarm::tensor {

const ModelCode& gpt_code();  // tensor/gpt/torch/gpt_model.cc

const ModelCode& model_code(ModelKind kind) {
  static const std::vector<const ModelCode*> rows = {
      &gpt_code(),
  };
  const auto row = static_cast<size_t>(kind);
  SWARM_CHECK(row < rows.size());
  return *rows[row];
}

}  // namespace swarm::tensor
