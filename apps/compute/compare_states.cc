#include "apps/compute/compare_states.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "tensor/core/architecture.h"
#include "tensor/core/state_format.h"

namespace swarm::apps {
namespace {

using Values = std::vector<float>;

/// `origin` null: measured by the reference's own size.
Difference compare(const Values& swarm, const Values& reference, const Values* origin,
                   const tensor::ParameterInfo& parameter) {
  double away = 0, scale = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    if (i >= parameter.noise_begin && i < parameter.noise_end) continue;
    const double difference = double{swarm[i]} - double{reference[i]};
    const double way = double{reference[i]} - (origin ? double{(*origin)[i]} : 0);
    away += difference * difference;
    scale += way * way;
  }
  return {std::sqrt(away), std::sqrt(scale)};
}

const Values* find(const tensor::NamedValues& values, const tensor::ParameterInfo& parameter) {
  const auto found = values.find(parameter.global_name);
  const bool good = found != values.end() && found->second.size() == parameter.size;
  return good ? &found->second : nullptr;
}

/// A snapshot's payload, part by part: what each is called, and the reference's values.
using Parts = std::vector<std::pair<std::string, const tensor::NamedValues*>>;

/// Nothing if the reference was trained by an optimizer of another kind.
std::optional<Parts> parts_of(const tensor::ReferenceState& reference,
                              tensor::OptimizerKind optimizer) {
  const auto& moments = tensor::optimizer_info(optimizer).moments;
  if (reference.moments.size() != moments.size()) return {};
  Parts parts = {{"parameters", &reference.parameters}};
  for (size_t i = 0; i < moments.size(); ++i)
    parts.emplace_back(moments[i].name, &reference.moments[i]);
  return parts;
}

}  // namespace

double Difference::relative() const {
  if (away == 0) return 0;
  return scale > 0 ? away / scale : std::numeric_limits<double>::infinity();
}

Result<std::map<std::string, Difference>> compare_states(
    const tensor::ModelOptions& model, int32_t num_stages,
    const std::vector<storage::StageSnapshot>& snapshots, const tensor::ReferenceState& reference,
    const tensor::NamedValues& origin) {
  std::map<std::string, Difference> out;
  for (const auto& snapshot : snapshots) {
    auto view = tensor::parse_state(snapshot.state);
    if (!view) return view.error();
    const auto layout = tensor::model_layout(model, snapshot.stage, num_stages);
    const uint64_t size = tensor::layout_size(layout);
    if (view->head.num_parameters() != size)
      return Error{ErrorCode::kShapeMismatch,
                   "the snapshot of " + snapshot.node + " is not of this model"};
    const auto parts = parts_of(reference, tensor::optimizer_kind(view->head));
    if (!parts)
      return Error{ErrorCode::kShapeMismatch,
                   "the snapshot of " + snapshot.node + " is of another optimizer"};
    for (size_t part = 0; part < parts->size(); ++part) {
      for (const auto& parameter : layout) {
        const Values* right = find(*(*parts)[part].second, parameter);
        const Values* before = find(origin, parameter);
        if (right == nullptr || before == nullptr)
          return Error{ErrorCode::kShapeMismatch, "the reference has no " + parameter.global_name};
        Values values(parameter.size);
        std::memcpy(values.data(),
                    view->payload.data() + (part * size + parameter.offset) * sizeof(float),
                    values.size() * sizeof(float));
        const Difference one = compare(values, *right, part == 0 ? before : nullptr, parameter);
        Difference& worst = out[(*parts)[part].first + "." + parameter.global_name];
        // Not a number is the worst.
        if (!std::isnan(worst.relative()) && !(one.relative() < worst.relative())) worst = one;
      }
    }
  }
  return out;
}

Verdict verdict_of(bool beyond, bool wrong, bool judged) {
  if (wrong || (beyond && judged)) return {"NOT EQUAL", 1};
  if (beyond) return {"NOT JUDGED", 2};
  return {"equal", 0};
}

std::string why_not_judged(const std::string& rounding, Doubt doubt) {
  const std::string why = "the swarm rounds (" + rounding + "), and ";
  switch (doubt) {
    case Doubt::kFromStart:
      return why +
             "what one value is rounded to otherwise grows through all steps; without "
             "--from-start, "
             "from snapshot to snapshot, it is judged";
    case Doubt::kOtherBits:
      return why +
             "float sums end in other bits here than they did there (another processor, other "
             "threads); on a machine like its nodes' it is judged, and with a --tolerance";
    case Doubt::kGuessed:
      return why + "what was not told had to be guessed; with a --tolerance it is judged";
  }
  return why;
}

tensor::NamedValues initial_parameters(const tensor::ModelOptions& model) {
  tensor::NamedValues out;
  for (const auto& parameter : tensor::model_layout(model)) {
    Values values(parameter.size);
    tensor::initial_values(model.seed, parameter, values.data());
    out.emplace(parameter.global_name, std::move(values));
  }
  return out;
}

}  // namespace swarm::apps
