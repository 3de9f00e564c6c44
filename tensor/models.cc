// The table of architectures, by ModelKind: append, never reorder.
#include "common/check.h"
#include "tensor/core/architecture.h"

namespace swarm::tensor {

const Architecture& gpt_architecture();  // tensor/gpt/gpt.cc

namespace {

const std::vector<const Architecture*>& model_rows() {
  static const std::vector<const Architecture*> all = {
      &gpt_architecture(),
  };
  return all;
}

}  // namespace

const Architecture& architecture(ModelKind kind) {
  const auto row = static_cast<size_t>(kind);
  SWARM_CHECK(row < model_rows().size());
  return *model_rows()[row];
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Architecture* row : model_rows()) names.emplace_back(row->name);
  return names;
}

}  // namespace swarm::tensor
