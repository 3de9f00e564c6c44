#include "apps/compute/compare_states.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/core/gpt_layout.h"
#include "tensor/core/state_format.h"

namespace swarm::apps {
namespace {

using Values = std::vector<float>;

/// The part of a tensor that rounding alone moves: [begin, end), maybe empty.
struct Noise {
  size_t begin = 0, end = 0;
};

/// The keys' biases. They add q.b to all scores of a query alike, which softmax takes away again:
/// their gradient is zero but for rounding, and Adam makes full steps of whatever is left.
Noise noise_in(const std::string& name, size_t width) {
  const std::string tail = "attention.qkv.bias";
  const bool is_bias =
      name.size() >= tail.size() && name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
  return is_bias ? Noise{width, 2 * width} : Noise{};
}

/// `origin` null: measured by the reference's own size.
Difference compare(const Values& swarm, const Values& reference, const Values* origin,
                   const Noise& noise) {
  double away = 0, scale = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    if (i >= noise.begin && i < noise.end) continue;
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

}  // namespace

double Difference::relative() const {
  if (away == 0) return 0;
  return scale > 0 ? away / scale : std::numeric_limits<double>::infinity();
}

Result<std::map<std::string, Difference>> compare_states(
    const tensor::ModelOptions& model, int32_t num_stages,
    const std::vector<StageSnapshot>& snapshots, const tensor::ReferenceState& reference,
    const tensor::NamedValues& origin) {
  const std::pair<const char*, const tensor::NamedValues*> parts[] = {
      {"parameters.", &reference.parameters},
      {"first_moments.", &reference.first_moments},
      {"second_moments.", &reference.second_moments}};
  std::map<std::string, Difference> out;
  for (const auto& snapshot : snapshots) {
    auto view = tensor::parse_state(snapshot.state);
    if (!view) return view.error();
    const auto layout = tensor::gpt_layout(model, snapshot.stage, num_stages);
    const uint64_t size = tensor::layout_size(layout);
    if (view->head.num_parameters() != size)
      return Error{ErrorCode::kShapeMismatch,
                   "the snapshot of " + snapshot.node + " is not of this model"};
    for (size_t part = 0; part < 3; ++part) {
      for (const auto& parameter : layout) {
        const Values* right = find(*parts[part].second, parameter);
        const Values* before = find(origin, parameter);
        if (right == nullptr || before == nullptr)
          return Error{ErrorCode::kShapeMismatch, "the reference has no " + parameter.global_name};
        Values values(parameter.size);
        std::memcpy(values.data(),
                    view->payload.data() + (part * size + parameter.offset) * sizeof(float),
                    values.size() * sizeof(float));
        const Difference one =
            compare(values, *right, part == 0 ? before : nullptr,
                    noise_in(parameter.global_name, static_cast<size_t>(model.width)));
        Difference& worst = out[parts[part].first + parameter.global_name];
        // Not a number is the worst.
        if (!std::isnan(worst.relative()) && !(one.relative() < worst.relative())) worst = one;
      }
    }
  }
  return out;
}

tensor::NamedValues initial_parameters(const tensor::ModelOptions& model) {
  tensor::ModelOptions unsplit = model;
  unsplit.layers_per_stage.clear();
  tensor::NamedValues out;
  for (const auto& parameter : tensor::gpt_layout(unsplit, 0, 1)) {
    Values values(parameter.size);
    tensor::initial_values(model.seed, parameter, values.data());
    out.emplace(parameter.global_name, std::move(values));
  }
  return out;
}

}  // namespace swarm::apps
