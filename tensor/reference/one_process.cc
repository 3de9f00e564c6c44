#include "tensor/reference/one_process.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tensor/core/architecture.h"
#include "tensor/core/optimizer.h"
#include "tensor/reference/reference_optimizer.h"
#include "tensor/torch/model.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;
using Parameters = std::vector<ReferenceModel::Parameter>;

void set_initial_values(const Parameters& parameters, const ModelOptions& options) {
  torch::NoGradGuard guard;
  std::map<std::string, ParameterInfo> layout;
  for (ParameterInfo& info : model_layout(options)) layout.emplace(info.global_name, info);
  for (const auto& parameter : parameters) {
    const ParameterInfo& info = layout.at(parameter.name);
    std::vector<float> values(info.size);
    initial_values(options.seed, info, values.data());
    Tensor(parameter.value).copy_(torch::from_blob(values.data(), info.shape));
  }
}

std::vector<float> to_vector(const Tensor& tensor) {
  Tensor flat = tensor.detach().contiguous();
  const float* data = flat.data_ptr<float>();
  return {data, data + flat.numel()};
}

Tensor to_window(const Buffer& tokens, uint32_t samples, uint32_t sequence) {
  auto* data = const_cast<uint8_t*>(tokens.data());
  return torch::from_blob(data, {samples, sequence + 1}, torch::kInt32).to(torch::kInt64);
}

/// What LibTorch calls autocast, of this thread, while it lives.
class Autocast {
 public:
  explicit Autocast(bool on) : on_(on) {
    if (on_) set(true);
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::clear_cache();  // of the weights in bfloat16: a step changes them
    set(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  static void set(bool on) {
#if TORCH_VERSION_MAJOR >= 2
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, on);
#else
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(on);
#endif
  }

  const bool on_;
};

std::unique_ptr<ReferenceOptimizer> make_optimizer(const Parameters& parameters,
                                                   const OptimizerOptions& options) {
  std::vector<Tensor> decayed, plain;
  for (const auto& parameter : parameters)
    (parameter.decayed ? decayed : plain).push_back(parameter.value);
  return make_reference_optimizer(options, decayed, plain);
}

class Trainer : public ReferenceTrainer {
 public:
  Trainer(const ReferenceOptions& options, const TextData& data)
      : options_(options),
        data_(data),
        model_(model_code(options.model.kind).make_reference(options.model)),
        parameters_(model_->parameters()),
        optimizer_(make_optimizer(parameters_, options.optimizer)) {
    set_initial_values(parameters_, options.model);
  }

  uint64_t step() const override { return step_; }

  ReferenceState state() const override {
    ReferenceState out;
    out.step = step_;
    out.moments.resize(optimizer_info(options_.optimizer.kind).moments.size());
    for (const auto& parameter : parameters_) {
      out.parameters.emplace(parameter.name, to_vector(parameter.value));
      const ReferenceMoments moments = optimizer_->moments(parameter.value);
      out.updates = moments.updates;
      out.momentum_product = moments.momentum_product;
      for (size_t i = 0; i < out.moments.size(); ++i)
        out.moments[i].emplace(parameter.name, to_vector(moments.values[i]));
    }
    return out;
  }

  Status restore(const ReferenceState& state) override {
    bool good = fits(state.parameters) &&
                state.moments.size() == optimizer_info(options_.optimizer.kind).moments.size();
    for (const NamedValues& moment : state.moments) good = good && fits(moment);
    if (!good) {
      return Error{ErrorCode::kShapeMismatch, "reference: the state is not of this model", 0};
    }
    try {
      torch::NoGradGuard guard;
      for (const auto& parameter : parameters_) put(parameter.value, parameter.name, state);
    } catch (const std::exception& e) {
      return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
    }
    step_ = state.step;
    return {};
  }

  Result<ReferenceRun> train_until(uint64_t end) override {
    try {
      at::AutoGradMode mode(true);
      return train(end);
    } catch (const std::exception& e) {
      return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// The schedule: which parameters a step's gradient is of, and when its update is applied.
  Result<ReferenceRun> train(uint64_t end) {
    ReferenceRun run;
    auto start = Clock::now();
    const uint64_t first = step_;
    for (; step_ < end; ++step_) {
      if (step_ == first + 1) start = Clock::now();
      if (Status status = can_train(step_); !status) return status.error();
      const double loss = is_delayed(step_) ? accumulate_before(step_) : accumulate(step_);
      const uint32_t samples = counted_samples(step_);
      const double norm = average_and_clip(samples);
      if (!std::isfinite(loss) || !std::isfinite(norm)) {
        return Error{ErrorCode::kNonFinite, fmt::format("reference: step {}", step_), 0};
      }
      keep_before();
      update(step_);
      run.losses.push_back(loss / samples);
      run.gradient_norms.push_back(norm);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const uint64_t steps = end - first, timed = steps > 1 ? steps - 1 : steps;
    const double tokens = double(timed) * options_.batch * options_.model.sequence;
    run.tokens_per_s = seconds > 0 ? tokens / seconds : 0;
    for (const auto& parameter : parameters_)
      run.parameters.emplace(parameter.name, to_vector(parameter.value));
    return run;
  }

  Status can_train(uint64_t step) const {
    if (counted_samples(step) == 0) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("reference: every slot of step {} is skipped", step), 0};
    }
    if (!is_delayed(step) || before_step_ + 1 == step) return {};
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("reference: the parameters that step {} was computed on are not at hand", step),
        0};
  }

  bool fits(const NamedValues& values) const {
    if (values.size() != parameters_.size()) return false;
    return std::all_of(parameters_.begin(), parameters_.end(), [&](const auto& parameter) {
      const auto found = values.find(parameter.name);
      return found != values.end() &&
             found->second.size() == static_cast<size_t>(parameter.value.numel());
    });
  }

  void put(Tensor parameter, const std::string& name, const ReferenceState& state) {
    auto tensor = [&](const NamedValues& values) {
      auto* data = const_cast<float*>(values.at(name).data());
      return torch::from_blob(data, parameter.sizes()).clone();
    };
    parameter.copy_(tensor(state.parameters));
    ReferenceMoments moments{state.updates, state.momentum_product, {}};
    for (const NamedValues& moment : state.moments) moments.values.push_back(tensor(moment));
    optimizer_->set_moments(parameter, moments);
  }

  bool is_skipped(uint64_t step, uint32_t slot) const {
    const auto found = options_.skipped.find(step);
    return found != options_.skipped.end() &&
           std::count(found->second.begin(), found->second.end(), slot) > 0;
  }

  uint32_t counted_samples(uint64_t step) const {
    uint32_t samples = 0;
    for (uint32_t slot = 0; slot < options_.batch / options_.microbatch; ++slot) {
      if (!is_skipped(step, slot)) samples += options_.microbatch;
    }
    return samples;
  }

  /// Loss sum of the step; its gradient sum is in the parameters.
  double accumulate(uint64_t step) {
    for (auto& p : parameters_) p.value.mutable_grad() = Tensor();
    double sum = 0;
    const auto sequence = static_cast<uint32_t>(options_.model.sequence);
    for (uint32_t slot = 0; slot < options_.batch / options_.microbatch; ++slot) {
      const auto& lost = options_.lost_slot;
      if (is_skipped(step, slot) || (lost && lost->step == step && lost->slot == slot)) continue;
      std::vector<uint64_t> samples(options_.microbatch);
      for (uint32_t i = 0; i < options_.microbatch; ++i) {
        samples[i] = step * options_.batch + uint64_t{slot} * options_.microbatch + i;
      }
      Buffer tokens = data_.microbatch(Split::kTrain, samples);
      Tensor loss;
      {
        const Autocast bf16(options_.autocast);
        loss = model_->loss(to_window(tokens, options_.microbatch, sequence));
      }
      loss.backward();
      sum += loss.item<double>();
    }
    return sum;
  }

  double average_and_clip(uint32_t samples) {
    torch::NoGradGuard guard;
    double squared = 0;
    for (auto& p : parameters_) {
      Tensor& value = p.value;
      if (!value.grad().defined()) value.mutable_grad() = torch::zeros_like(value);
      value.mutable_grad().div_(static_cast<double>(samples));
      const double norm = value.grad().norm().item<double>();
      squared += norm * norm;
    }
    const double norm = std::sqrt(squared);
    const double factor = clip_scale(options_.optimizer, norm);
    if (factor < 1) {
      for (auto& p : parameters_) p.value.mutable_grad().mul_(factor);
    }
    return norm;
  }

  bool is_delayed(uint64_t step) const {
    const auto found = options_.computed_on.find(step);
    return found != options_.computed_on.end() && found->second != step;
  }

  /// The gradient of `step`, of the parameters before the last update.
  double accumulate_before(uint64_t step) {
    swap_before();
    const double loss = accumulate(step);
    swap_before();
    return loss;
  }

  void swap_before() {
    torch::NoGradGuard guard;
    size_t i = 0;
    for (auto& p : parameters_) {
      Tensor now = p.value.detach().clone();
      p.value.copy_(before_[i]);
      before_[i++] = now;
    }
  }

  void keep_before() {
    if (options_.computed_on.empty()) return;
    torch::NoGradGuard guard;
    before_.clear();
    for (const auto& p : parameters_) before_.push_back(p.value.detach().clone());
    before_step_ = step_;
  }

  /// With the gradient in the parameters, at the learning rate of the update that ends `step`.
  void update(uint64_t step) {
    optimizer_->step(learning_rate(options_.optimizer, static_cast<int64_t>(step)));
  }

  const ReferenceOptions options_;
  const TextData& data_;
  const std::unique_ptr<ReferenceModel> model_;
  Parameters parameters_;  ///< The model's own.
  const std::unique_ptr<ReferenceOptimizer> optimizer_;
  uint64_t step_ = 0;
  std::vector<Tensor> before_;  ///< Parameters at the start of before_step_; only if computed_on.
  uint64_t before_step_ = UINT64_MAX - 1;
};

Status check(const ReferenceOptions& options, const TextData& data) {
  for (const auto& errors : {options.model.validate(), options.optimizer.validate()}) {
    if (!errors.empty()) return errors.front();
  }
  if (options.microbatch < 1 || options.batch < 1 || options.batch % options.microbatch != 0) {
    return Error{ErrorCode::kInvalidArgument, "batch: must be a positive multiple of microbatch",
                 0};
  }
  if (data.sequence() != options.model.sequence) {
    return Error{ErrorCode::kInvalidArgument, "data: windows are not of model.sequence", 0};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ReferenceTrainer>> ReferenceTrainer::make(const ReferenceOptions& options,
                                                                 const TextData& data) {
  if (Status status = check(options, data); !status) return status.error();
  try {
    return std::unique_ptr<ReferenceTrainer>(new Trainer(options, data));
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
  }
}

Result<ReferenceRun> train_reference(const ReferenceOptions& options, const TextData& data) {
  auto trainer = ReferenceTrainer::make(options, data);
  if (!trainer) return trainer.error();
  return (*trainer)->train_until(options.steps);
}

Result<ReferenceGradient> reference_gradient(const ModelOptions& options, const Buffer& tokens,
                                             uint32_t samples, uint32_t sequence) {
  if (auto errors = options.validate(); !errors.empty()) return errors.front();
  if (samples < 1 || sequence < 1 || sequence > static_cast<uint32_t>(options.sequence) ||
      tokens.size() != uint64_t{samples} * (sequence + 1) * sizeof(int32_t)) {
    return Error{ErrorCode::kShapeMismatch, "tokens: not int32 [samples, sequence + 1]", 0};
  }
  try {
    at::AutoGradMode mode(true);
    const auto model = model_code(options.kind).make_reference(options);
    const Parameters parameters = model->parameters();
    set_initial_values(parameters, options);
    Tensor loss = model->loss(to_window(tokens, samples, sequence));
    loss.backward();
    ReferenceGradient result;
    result.loss_sum = loss.item<double>();
    for (const auto& parameter : parameters)
      result.gradients.emplace(parameter.name, to_vector(parameter.value.grad()));
    return result;
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
  }
}

}  // namespace swarm::tensor
