// The table of optimizers, by OptimizerKind: append, never reorder.
#include "common/check.h"
#include "tensor/core/optimizer.h"

namespace swarm::tensor {

const OptimizerInfo& adamw_info();  // tensor/optimizers/adamw.cc
const OptimizerInfo& nag_info();    // tensor/optimizers/nag.cc
const OptimizerInfo& lamb_info();   // tensor/optimizers/lamb.cc

namespace {

const std::vector<const OptimizerInfo*>& optimizer_rows() {
  static const std::vector<const OptimizerInfo*> all = {
      &adamw_info(),
      &nag_info(),
      &lamb_info(),
  };
  return all;
}

}  // namespace

const OptimizerInfo& optimizer_info(OptimizerKind kind) {
  const auto row = static_cast<size_t>(kind);
  SWARM_CHECK(row < optimizer_rows().size());
  return *optimizer_rows()[row];
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerInfo* row : optimizer_rows()) names.emplace_back(row->name);
  return names;
}

}  // namespace swarm::tensor
