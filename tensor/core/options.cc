#include "tensor/core/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/check.h"
#include "tensor/core/architecture.h"
#include "tensor/core/block_sizes.h"

namespace swarm::tensor {
namespace {

/// Collects broken rules; every text starts with the key, so that a reader can find the line.
class Rules {
 public:
  void require(bool holds, const std::string& text) {
    if (!holds) errors_.push_back({ErrorCode::kInvalidArgument, text, 0});
  }
  void in_range(const char* key, int64_t value, int64_t low, int64_t high) {
    require(value >= low && value <= high,
            fmt::format("{}: must be between {} and {} (got {})", key, low, high, value));
  }
  void number(const char* key, double value, bool holds, const char* rule) {
    require(holds, fmt::format("{}: must be {} (got {})", key, rule, text(value)));
  }
  static std::string text(double value) {
    const bool tiny = std::isfinite(value) && value != 0 && std::abs(value) < 1e-3;
    return tiny ? fmt::format("{:g}", value) : fmt::format("{:f}", value);
  }
  std::vector<Error> take() { return std::move(errors_); }

 private:
  std::vector<Error> errors_;
};

void check_split(const ModelOptions& model, Rules& rules) {
  if (model.layers_per_stage.empty()) return;
  int64_t sum = 0;
  bool positive = true;
  for (int32_t count : model.layers_per_stage) {
    positive = positive && count >= 1;
    sum += count;
  }
  rules.require(positive, "model.layers_per_stage: every stage needs at least 1 layer");
  rules.require(sum == model.layers,
                fmt::format("model.layers_per_stage: must add up to model.layers (got {} and {})",
                            sum, model.layers));
}

void check_boundary(const ModelOptions& model, Rules& rules) {
  if (model.boundary == Boundary::kNone) return;
  const int32_t factor = model.boundary_factor;
  const bool good = factor == 2 || factor == 4;
  rules.require(good, fmt::format("model.boundary_factor: must be 2 or 4 (got {})", factor));
  rules.require(
      !good || model.width < 1 || model.width % factor == 0,
      fmt::format("model.width: must be divisible by model.boundary_factor (got {} and {})",
                  model.width, factor));
}

}  // namespace

std::vector<Error> ModelOptions::validate() const {
  Rules rules;
  rules.in_range("model.layers", layers, 1, 4096);
  rules.in_range("model.repeats", repeats, 1, 4096);
  rules.in_range("model.width", width, 1, 65536);
  rules.in_range("model.heads", heads, 1, 4096);
  rules.in_range("model.ffn", ffn, 1, 1 << 20);
  rules.in_range("model.sequence", sequence, 1, 1 << 17);
  rules.in_range("model.vocabulary", vocabulary, 256, 1 << 20);
  for (const Error& error : architecture(kind).check(*this)) rules.require(false, error.detail);
  check_split(*this, rules);
  check_boundary(*this, rules);
  return rules.take();
}

uint64_t most_samples(const ModelOptions& model, uint64_t sequence) {
  const uint64_t widest = architecture(model.kind).widest(model, sequence);
  return kMaxTensorBytes / sizeof(float) / widest / sequence;
}

uint64_t graph_bytes_per_sample(const ModelOptions& model, int32_t blocks) {
  const auto width = static_cast<uint64_t>(model.width), ffn = static_cast<uint64_t>(model.ffn);
  const auto sequence = static_cast<uint64_t>(model.sequence);
  // Inputs of both norms and of the four matrices, queries, keys and values; both sides of the GELU;
  // the attention's weights, unless they are made again.
  const bool weights = model.sequence <= kWholeAttention;
  const uint64_t per_token =
      8 * width + 2 * ffn + (weights ? static_cast<uint64_t>(model.heads) * sequence : 0);
  const auto applied = static_cast<uint64_t>(blocks) * static_cast<uint64_t>(model.repeats);
  return applied * sequence * per_token * sizeof(float);
}

LayerRange stage_layers(const ModelOptions& model, int32_t stage, int32_t num_stages) {
  SWARM_CHECK(num_stages >= 1 && num_stages <= model.layers);
  SWARM_CHECK(stage >= 0 && stage < num_stages);
  const std::vector<int32_t>& split = model.layers_per_stage;
  if (!split.empty()) {
    SWARM_CHECK(split.size() == static_cast<size_t>(num_stages));
    return {std::accumulate(split.begin(), split.begin() + stage, 0), split[stage]};
  }
  int32_t base = model.layers / num_stages;
  int32_t rest = model.layers % num_stages;
  return {stage * base + std::min(stage, rest), base + (stage < rest ? 1 : 0)};
}

ModelOptions with_split(const ModelOptions& model, int32_t num_stages) {
  ModelOptions split = model;
  split.layers_per_stage.clear();
  for (int32_t stage = 0; stage < num_stages; ++stage)
    split.layers_per_stage.push_back(stage_layers(model, stage, num_stages).count);
  return split;
}

int32_t boundary_width(const ModelOptions& model) {
  return model.boundary == Boundary::kNone ? model.width : model.width / model.boundary_factor;
}

std::vector<Error> OptimizerOptions::validate() const {
  Rules rules;
  auto finite = [](double x) { return std::isfinite(x); };
  rules.number("optimizer.learning_rate", learning_rate, finite(learning_rate) && learning_rate > 0,
               "a positive number");
  rules.number("optimizer.min_learning_rate", min_learning_rate,
               min_learning_rate >= 0 && min_learning_rate <= learning_rate,
               "between 0 and optimizer.learning_rate");
  rules.require(warmup_steps >= 0,
                fmt::format("optimizer.warmup_steps: must not be negative (got {})", warmup_steps));
  rules.require(
      schedule == Schedule::kConstant || total_steps > std::max<int64_t>(warmup_steps, 0),
      fmt::format("optimizer.total_steps: the {} schedule needs more than optimizer.warmup_steps "
                  "(got {} and {})",
                  schedule == Schedule::kLinear ? "linear" : "cosine", total_steps, warmup_steps));
  rules.number("optimizer.beta1", beta1, beta1 >= 0 && beta1 < 1, "in [0, 1)");
  rules.number("optimizer.beta2", beta2, beta2 >= 0 && beta2 < 1, "in [0, 1)");
  rules.number("optimizer.epsilon", epsilon, finite(epsilon) && epsilon > 0, "a positive number");
  rules.number("optimizer.momentum_decay", momentum_decay,
               finite(momentum_decay) && momentum_decay >= 0, "0 or a positive number");
  rules.number("optimizer.weight_decay", weight_decay, finite(weight_decay) && weight_decay >= 0,
               "0 (off) or a positive number");
  rules.number("optimizer.clip_norm", clip_norm, finite(clip_norm) && clip_norm >= 0,
               "0 (off) or a positive number");
  return rules.take();
}

double learning_rate(const OptimizerOptions& options, int64_t step) {
  if (step < options.warmup_steps) {
    return options.learning_rate * static_cast<double>(step + 1) /
           static_cast<double>(options.warmup_steps);
  }
  if (options.schedule == Schedule::kConstant) return options.learning_rate;
  if (step >= options.total_steps) return options.min_learning_rate;
  double done = static_cast<double>(step - options.warmup_steps) /
                static_cast<double>(options.total_steps - options.warmup_steps);
  double height = options.learning_rate - options.min_learning_rate;
  if (options.schedule == Schedule::kLinear) return options.min_learning_rate + height * (1 - done);
  return options.min_learning_rate + height * 0.5 * (1 + std::cos(M_PI * done));
}

double clip_scale(const OptimizerOptions& options, double gradient_norm) {
  if (options.clip_norm <= 0 || !(gradient_norm > options.clip_norm)) return 1;
  return options.clip_norm / gradient_norm;
}

Result<Device> parse_device(const std::string& name) {
  if (name == "cpu") return Device{};
  if (name == "cuda") return Device{true, 0};
  const std::string prefix = "cuda:";
  const std::string number = name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : "";
  const bool digits = !number.empty() && number.size() <= 2 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  if (digits) return Device{true, static_cast<int8_t>(std::stoi(number))};
  return Error{
      ErrorCode::kInvalidArgument,
      "device: expected \"cpu\", \"cuda\" or \"cuda:N\" with N below 100, found \"" + name + "\"",
      0};
}

Status StageOptions::validate() const {
  for (const auto& errors : {model.validate(), optimizer.validate()}) {
    if (!errors.empty()) return errors.front();
  }
  if (const auto parsed = parse_device(device); !parsed) return parsed.error();
  Rules rules;
  rules.in_range("stages (at most model.layers)", num_stages, 1, model.layers);
  rules.in_range("stage", stage, 0, int64_t{num_stages} - 1);
  const size_t split = model.layers_per_stage.size();
  rules.require(
      split == 0 || split == static_cast<size_t>(num_stages),
      fmt::format("model.layers_per_stage: names {} stages, there are {}", split, num_stages));
  const auto errors = rules.take();
  return errors.empty() ? Status() : Status(errors.front());
}

std::vector<Error> DataOptions::validate() const {
  Rules rules;
  rules.require(!train.empty(), "data.train: name at least one text file or folder");
  auto check_paths = [&](const char* key, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      rules.require(!path.empty(), std::string(key) + ": a path is empty");
    }
  };
  check_paths("data.train", train);
  check_paths("data.validation", validation);
  rules.number("data.holdout", holdout, holdout > 0 && holdout <= 0.5, "in (0, 0.5]");
  return rules.take();
}

}  // namespace swarm::tensor
