// The state of a training from the snapshots of its stages.
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "tensor/core/architecture.h"
#include "tensor/core/state_format.h"
#include "tensor/reference/one_process.h"

namespace swarm::tensor {

Result<ReferenceState> reference_state(const ModelOptions& model,
                                       const std::vector<Buffer>& stages) {
  ReferenceState out;
  const auto num_stages = static_cast<int32_t>(stages.size());
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    auto view = parse_state(stages[static_cast<size_t>(stage)]);
    if (!view) return view.error();
    const auto layout = model_layout(model, stage, num_stages);
    const uint64_t size = layout_size(layout);
    const OptimizerCounters counters = optimizer_counters(view->head);
    if (view->head.num_parameters() != size ||
        (stage > 0 && (view->head.step() != out.step || counters.updates != out.updates ||
                       counters.momentum_product != out.momentum_product))) {
      return Error{ErrorCode::kShapeMismatch,
                   fmt::format("the snapshot of stage {} does not fit the others", stage), 0};
    }
    out.step = view->head.step();
    out.updates = counters.updates;
    out.momentum_product = counters.momentum_product;
    out.moments.resize(optimizer_info(optimizer_kind(view->head)).moments.size());
    std::vector<NamedValues*> parts = {&out.parameters};
    for (NamedValues& moment : out.moments) parts.push_back(&moment);
    for (size_t part = 0; part < parts.size(); ++part) {
      for (const ParameterInfo& info : layout) {
        std::vector<float> values(info.size);
        std::memcpy(values.data(),
                    view->payload.data() + (part * size + info.offset) * sizeof(float),
                    info.size * sizeof(float));
        parts[part]->emplace(info.global_name, std::move(values));
      }
    }
  }
  return out;
}

}  // namespace swarm::tensor
