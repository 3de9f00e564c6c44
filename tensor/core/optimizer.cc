#include "tensor/core/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "tensor/core/flat.h"

namespace swarm::tensor {
namespace {

/// t enters the formulas as a double, which counts exactly up to here.
constexpr uint64_t kMaxUpdates = uint64_t{1} << 53;

class Adamw final : public Optimizer {
 public:
  Adamw(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
        ParallelFor parallel)
      : Optimizer(options, layout, std::move(parallel)) {}

 private:
  void begin(double learning_rate, double gradient_scale) override {
    const auto t = static_cast<double>(++counters_.updates);
    step_.learning_rate = static_cast<float>(learning_rate);
    step_.beta1 = static_cast<float>(options_.beta1);
    step_.beta2 = static_cast<float>(options_.beta2);
    step_.epsilon = static_cast<float>(options_.epsilon);
    step_.gradient_scale = static_cast<float>(gradient_scale);
    step_.correction1 = static_cast<float>(1 / (1 - std::pow(options_.beta1, t)));
    step_.correction2 = static_cast<float>(1 / (1 - std::pow(options_.beta2, t)));
  }
  void run(float weight_decay, const float* gradient, const float* from, float* to, float* first,
           float* second, size_t n) const override {
    AdamwStep step = step_;
    step.weight_decay = weight_decay;
    adamw_update(step, from, to, first, second, gradient, n);
  }

  AdamwStep step_;
};

class Nesterov final : public Optimizer {
 public:
  Nesterov(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
           ParallelFor parallel)
      : Optimizer(options, layout, std::move(parallel)) {}

 private:
  double momentum(double t) const {
    return options_.beta1 * (1 - 0.5 * std::pow(0.96, t * options_.momentum_decay));
  }
  void begin(double learning_rate, double gradient_scale) override {
    const auto t = static_cast<double>(++counters_.updates);
    const double now = momentum(t), next = momentum(t + 1);
    const double product = counters_.momentum_product *= now;
    step_.learning_rate = static_cast<float>(learning_rate);
    step_.beta1 = static_cast<float>(options_.beta1);
    step_.beta2 = static_cast<float>(options_.beta2);
    step_.rest1 = static_cast<float>(1 - options_.beta1);
    step_.rest2 = static_cast<float>(1 - options_.beta2);
    step_.epsilon = static_cast<float>(options_.epsilon);
    step_.gradient_scale = static_cast<float>(gradient_scale);
    step_.gradient_rate = static_cast<float>(learning_rate * (1 - now) / (1 - product));
    step_.momentum_rate = static_cast<float>(learning_rate * next / (1 - product * next));
    step_.correction2 = static_cast<float>(1 / (1 - std::pow(options_.beta2, t)));
  }
  void run(float weight_decay, const float* gradient, const float* from, float* to, float* first,
           float* second, size_t n) const override {
    NesterovStep step = step_;
    step.weight_decay = weight_decay;
    nesterov_update(step, from, to, first, second, gradient, n);
  }

  NesterovStep step_;
};

}  // namespace

Status check_counters(OptimizerKind kind, const OptimizerCounters& counters) {
  auto corrupt = [](const std::string& text) {
    return Error{ErrorCode::kCorruptCheckpoint, "optimizer: " + text, 0};
  };
  if (counters.updates > kMaxUpdates)
    return corrupt("cannot have done " + std::to_string(counters.updates) + " updates");
  const double product = counters.momentum_product;
  const bool one = kind == OptimizerKind::kAdamw || counters.updates == 0;
  if (one ? product == 1 : product >= 0 && product < 1) return {};
  return corrupt("a momentum product of " + std::to_string(product) + " does not go with " +
                 to_string(kind) + " after " + std::to_string(counters.updates) + " updates");
}

Optimizer::Optimizer(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
                     ParallelFor parallel)
    : options_(options), size_(layout_size(layout)), parallel_(std::move(parallel)) {
  for (const ParameterInfo& info : layout) {
    const bool joins = !ranges_.empty() && ranges_.back().decayed == info.decayed;
    if (joins) {
      ranges_.back().size += info.size;
    } else {
      ranges_.push_back({info.offset, info.size, info.decayed});
    }
  }
  moments_ = MutableBuffer::allocate(moments_bytes());
  if (!parallel_) parallel_ = [](size_t n, const ParallelBody& body) { body(0, n); };
  reset();
}

void Optimizer::step(const float* gradient, uint64_t lr_position, double gradient_scale,
                     const float* from, float* to) {
  const auto position = static_cast<int64_t>(std::min<uint64_t>(lr_position, INT64_MAX));
  begin(learning_rate(options_, position), gradient_scale);
  float* first = moments();
  float* second = first + size_;
  for (const Range& range : ranges_) {
    const float decay = range.decayed ? static_cast<float>(options_.weight_decay) : 0;
    parallel_(range.size, [&](size_t begin, size_t end) {
      const uint64_t at = range.offset + begin;
      run(decay, gradient + at, from + at, to + at, first + at, second + at, end - begin);
    });
  }
}

void Optimizer::reset() {
  counters_ = {};
  std::memset(moments_.data(), 0, moments_bytes());
}

Status Optimizer::restore(const OptimizerCounters& counters, const void* moments) {
  if (Status status = check_counters(options_.kind, counters); !status) return status;
  counters_ = counters;
  std::memcpy(moments_.data(), moments, moments_bytes());
  return {};
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const std::vector<ParameterInfo>& layout,
                                          ParallelFor parallel) {
  if (options.kind == OptimizerKind::kNag)
    return std::make_unique<Nesterov>(options, layout, std::move(parallel));
  return std::make_unique<Adamw>(options, layout, std::move(parallel));
}

}  // namespace swarm::tensor
