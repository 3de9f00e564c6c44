#include "tensor/torch/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "common/check.h"
#include "tensor/core/state_format.h"

namespace swarm::tensor {
namespace {

Error invalid(std::string text) { return {ErrorCode::kInvalidArgument, std::move(text), 0}; }

/// The last `sequence` bytes as one sample; the target of the last position is unused (0).
StageInput window_of(const std::string& text, int32_t sequence) {
  const size_t n = std::min(text.size(), static_cast<size_t>(sequence));
  std::vector<int32_t> tokens(n + 1, 0);
  for (size_t i = 0; i < n; ++i) tokens[i] = static_cast<uint8_t>(text[text.size() - n + i]);
  StageInput input;
  input.samples = 1;
  input.sequence = static_cast<uint32_t>(n);
  std::string bytes(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t));
  input.tokens = Buffer::from_string(std::move(bytes));
  return input;
}

Result<std::vector<float>> logits_of(const Stages& stages, StageInput input) {
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    auto output = stages[i]->forward({}, input, /*forward_only=*/true);
    if (!output) return output.error();
    input.activations = std::move(*output);
  }
  auto logits = stages.back()->next_logits(input);
  if (!logits) return logits.error();
  std::vector<float> values(logits->size() / sizeof(float));
  std::memcpy(values.data(), logits->data(), logits->size());
  return values;
}

}  // namespace

Result<Stages> load_stages(const ModelOptions& model, const std::vector<Buffer>& states) {
  if (states.empty()) return invalid("sample: there are no states");
  Stages stages;
  std::string fingerprint;
  uint64_t step = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    auto view = parse_state(states[i]);
    if (!view) return view.error();
    StageOptions options;
    options.model = model;
    options.stage = static_cast<int32_t>(i);
    options.num_stages = static_cast<int32_t>(states.size());
    if (i == 0) {
      fingerprint = view->head.config_fingerprint();
      step = view->head.step();
    }
    options.config_fingerprint = fingerprint;
    options.optimizer.kind = optimizer_kind(view->head);
    if (view->head.step() != step) {
      return Error{ErrorCode::kShapeMismatch, "sample: the states are of different steps", 0};
    }
    auto stage = open_stage(options);
    if (!stage) return stage.error();
    if (Status status = (*stage)->load_state(states[i]); !status) return status.error();
    stages.push_back(std::move(*stage));
  }
  return stages;
}

uint32_t choose_token(const std::vector<float>& logits, double temperature, uint32_t top_k,
                      double random) {
  SWARM_CHECK(!logits.empty());
  std::vector<uint32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
  if (temperature <= 0) return order.front();
  if (top_k > 0 && top_k < order.size()) order.resize(top_k);
  std::vector<double> weights;
  double total = 0;
  for (uint32_t token : order) {
    weights.push_back(std::exp((double{logits[token]} - logits[order[0]]) / temperature));
    total += weights.back();
  }
  double left = random * total;
  for (size_t i = 0; i < order.size(); ++i) {
    left -= weights[i];
    if (left < 0) return order[i];
  }
  return order.back();
}

Result<std::string> sample_text(const Stages& stages, int32_t sequence,
                                const SampleOptions& options,
                                const std::function<void(char)>& on_byte) {
  if (stages.empty()) return invalid("sample: there are no stages");
  if (options.prompt.empty()) return invalid("sample: the prompt is empty");
  if (!(options.temperature >= 0)) return invalid("sample: temperature must be 0 or more");
  std::mt19937_64 generator(options.seed);
  std::string text = options.prompt;
  for (uint32_t i = 0; i < options.count; ++i) {
    auto logits = logits_of(stages, window_of(text, sequence));
    if (!logits) return logits.error();
    logits->resize(std::min<size_t>(logits->size(), 256));  // tokens are bytes
    const double random = static_cast<double>(generator() >> 11) * 0x1p-53;
    const uint32_t next = choose_token(*logits, options.temperature, options.top_k, random);
    text.push_back(static_cast<char>(next));
    if (on_byte) on_byte(text.back());
  }
  return text.substr(options.prompt.size());
}

}  // namespace swarm::tensor
