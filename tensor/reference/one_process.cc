#include "tensor/reference/one_process.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tensor/core/gpt_layout.h"
#include "tensor/core/state_format.h"
#include "tensor/reference/reference_optimizer.h"

namespace swarm::tensor {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

struct BlockImpl : nn::Module {
  explicit BlockImpl(const ModelOptions& m) : heads(m.heads), width(m.width) {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({m.width})));
    qkv = register_module("attention_qkv", nn::Linear(m.width, 3 * m.width));
    out = register_module("attention_out", nn::Linear(m.width, m.width));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({m.width})));
    up = register_module("mlp_up", nn::Linear(m.width, m.ffn));
    down = register_module("mlp_down", nn::Linear(m.ffn, m.width));
  }

  Tensor attend(const Tensor& x, const Tensor& future) {
    const int64_t batch = x.size(0), sequence = x.size(1), depth = width / heads;
    auto split = qkv(x).chunk(3, -1);
    for (Tensor& part : split) part = part.view({batch, sequence, heads, depth}).transpose(1, 2);
    Tensor scores = torch::matmul(split[0] / std::sqrt(double(depth)), split[1].transpose(-2, -1));
    Tensor weights = torch::softmax(scores + future, -1);
    return out(torch::matmul(weights, split[2]).transpose(1, 2).reshape({batch, sequence, width}));
  }

  Tensor forward(Tensor x, const Tensor& future) {
    x = x + attend(norm1(x), future);
    return x + down(torch::gelu(up(norm2(x))));
  }

  const int64_t heads, width;
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(Block);

struct GptImpl : nn::Module {
  explicit GptImpl(const ModelOptions& m) {
    tokens = register_module("embedding_tokens", nn::Embedding(m.vocabulary, m.width));
    positions = register_module("embedding_positions", nn::Embedding(m.sequence, m.width));
    for (int32_t i = 0; i < m.layers; ++i) {
      blocks.push_back(register_module("layers_" + std::to_string(i), Block(m)));
    }
    norm = register_module("head_norm", nn::LayerNorm(nn::LayerNormOptions({m.width})));
    head =
        register_module("head", nn::Linear(nn::LinearOptions(m.width, m.vocabulary).bias(false)));
    future = torch::full({m.sequence, m.sequence}, -INFINITY).triu(1);
  }

  /// Sum over samples of the mean over tokens.
  Tensor loss(const Tensor& window) {
    const int64_t sequence = window.size(1) - 1;
    Tensor x = tokens(window.narrow(1, 0, sequence)) + positions(torch::arange(sequence));
    Tensor mask = future.narrow(0, 0, sequence).narrow(1, 0, sequence);
    for (Block& block : blocks) x = block(x, mask);
    Tensor logits = head(norm(x)).flatten(0, 1);
    Tensor targets = window.narrow(1, 1, sequence).reshape({-1});
    auto sum = nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
    return nn::functional::cross_entropy(logits, targets, sum) / static_cast<double>(sequence);
  }

  nn::Embedding tokens{nullptr}, positions{nullptr};
  std::vector<Block> blocks;
  nn::LayerNorm norm{nullptr};
  nn::Linear head{nullptr};
  Tensor future;
};
TORCH_MODULE(Gpt);

/// "layers_3.attention_qkv.weight" is called "layers.3.attention.qkv.weight" elsewhere; embeddings
/// have no ".weight" there.
std::string global_name(std::string name) {
  for (char& c : name) {
    if (c == '_') c = '.';
  }
  const std::string tail = ".weight";
  bool embedding = name.compare(0, 10, "embedding.") == 0;
  return embedding ? name.substr(0, name.size() - tail.size()) : name;
}

void set_initial_values(Gpt& model, const ModelOptions& options) {
  torch::NoGradGuard guard;
  ModelOptions unsplit = options;
  unsplit.layers_per_stage.clear();
  std::map<std::string, ParameterInfo> layout;
  for (ParameterInfo& info : gpt_layout(unsplit, 0, 1)) layout.emplace(info.global_name, info);
  for (auto& item : model->named_parameters()) {
    const ParameterInfo& info = layout.at(global_name(item.key()));
    std::vector<float> values(info.size);
    initial_values(options.seed, info, values.data());
    item.value().copy_(torch::from_blob(values.data(), info.shape));
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

std::unique_ptr<ReferenceOptimizer> make_optimizer(Gpt& model, const OptimizerOptions& options) {
  std::vector<Tensor> decayed, plain;
  for (auto& item : model->named_parameters()) {
    bool matrix = item.value().dim() == 2 && item.key().find("positions") == std::string::npos;
    (matrix ? decayed : plain).push_back(item.value());
  }
  return make_reference_optimizer(options, decayed, plain);
}

class Trainer : public ReferenceTrainer {
 public:
  Trainer(const ReferenceOptions& options, const TextData& data)
      : options_(options),
        data_(data),
        model_(options.model),
        optimizer_(make_optimizer(model_, options.optimizer)) {
    set_initial_values(model_, options.model);
  }

  uint64_t step() const override { return step_; }

  ReferenceState state() const override {
    ReferenceState out;
    out.step = step_;
    for (const auto& item : model_->named_parameters()) {
      const std::string name = global_name(item.key());
      out.parameters.emplace(name, to_vector(item.value()));
      const ReferenceMoments moments = optimizer_->moments(item.value());
      out.updates = moments.updates;
      out.momentum_product = moments.momentum_product;
      out.first_moments.emplace(name, to_vector(moments.first));
      out.second_moments.emplace(name, to_vector(moments.second));
    }
    return out;
  }

  Status restore(const ReferenceState& state) override {
    for (const auto* values : {&state.parameters, &state.first_moments, &state.second_moments}) {
      if (!fits(*values)) {
        return Error{ErrorCode::kShapeMismatch, "reference: the state is not of this model", 0};
      }
    }
    try {
      torch::NoGradGuard guard;
      for (auto& item : model_->named_parameters()) {
        put(item.value(), global_name(item.key()), state);
      }
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
      const uint32_t samples = counted_samples(step_);
      if (samples == 0) {
        return Error{ErrorCode::kInvalidArgument,
                     "reference: every slot of step " + std::to_string(step_) + " is skipped", 0};
      }
      if (is_delayed(step_) && before_step_ + 1 != step_) {
        return Error{ErrorCode::kInvalidArgument,
                     "reference: the parameters that step " + std::to_string(step_) +
                         " was computed on are not at hand",
                     0};
      }
      const double loss = is_delayed(step_) ? accumulate_before(step_) : accumulate(step_);
      const double norm = average_and_clip(samples);
      if (!std::isfinite(loss) || !std::isfinite(norm)) {
        return Error{ErrorCode::kNonFinite, "reference: step " + std::to_string(step_), 0};
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
    for (auto& item : model_->named_parameters()) {
      run.parameters.emplace(global_name(item.key()), to_vector(item.value()));
    }
    return run;
  }

  bool fits(const NamedValues& values) const {
    const auto parameters = model_->named_parameters();
    if (values.size() != parameters.size()) return false;
    for (const auto& item : parameters) {
      const auto found = values.find(global_name(item.key()));
      if (found == values.end() ||
          found->second.size() != static_cast<size_t>(item.value().numel())) {
        return false;
      }
    }
    return true;
  }

  void put(Tensor& parameter, const std::string& name, const ReferenceState& state) {
    auto tensor = [&](const NamedValues& values) {
      auto* data = const_cast<float*>(values.at(name).data());
      return torch::from_blob(data, parameter.sizes()).clone();
    };
    parameter.copy_(tensor(state.parameters));
    optimizer_->set_moments(parameter, {state.updates, state.momentum_product,
                                        tensor(state.first_moments), tensor(state.second_moments)});
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
    for (Tensor& p : model_->parameters()) p.mutable_grad() = Tensor();
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
      Tensor loss = model_->loss(to_window(tokens, options_.microbatch, sequence));
      loss.backward();
      sum += loss.item<double>();
    }
    return sum;
  }

  double average_and_clip(uint32_t samples) {
    torch::NoGradGuard guard;
    double squared = 0;
    for (Tensor& p : model_->parameters()) {
      if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);
      p.mutable_grad().div_(static_cast<double>(samples));
      const double norm = p.grad().norm().item<double>();
      squared += norm * norm;
    }
    const double norm = std::sqrt(squared);
    const double factor = clip_scale(options_.optimizer, norm);
    if (factor < 1) {
      for (Tensor& p : model_->parameters()) p.mutable_grad().mul_(factor);
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
    for (Tensor& p : model_->parameters()) {
      Tensor now = p.detach().clone();
      p.copy_(before_[i]);
      before_[i++] = now;
    }
  }

  void keep_before() {
    if (options_.computed_on.empty()) return;
    torch::NoGradGuard guard;
    before_.clear();
    for (const Tensor& p : model_->parameters()) before_.push_back(p.detach().clone());
    before_step_ = step_;
  }

  /// With the gradient in the parameters, at the learning rate of the update that ends `step`.
  void update(uint64_t step) {
    optimizer_->step(learning_rate(options_.optimizer, static_cast<int64_t>(step)));
  }

  const ReferenceOptions options_;
  const TextData& data_;
  Gpt model_;
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

Result<ReferenceState> reference_state(const ModelOptions& model,
                                       const std::vector<Buffer>& stages) {
  ReferenceState out;
  const auto num_stages = static_cast<int32_t>(stages.size());
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    auto view = parse_state(stages[static_cast<size_t>(stage)]);
    if (!view) return view.error();
    const auto layout = gpt_layout(model, stage, num_stages);
    const uint64_t size = layout_size(layout);
    const OptimizerCounters counters = optimizer_counters(view->head);
    if (view->head.num_parameters() != size ||
        (stage > 0 && (view->head.step() != out.step || counters.updates != out.updates ||
                       counters.momentum_product != out.momentum_product))) {
      return Error{ErrorCode::kShapeMismatch,
                   "the snapshot of stage " + std::to_string(stage) + " does not fit the others",
                   0};
    }
    out.step = view->head.step();
    out.updates = counters.updates;
    out.momentum_product = counters.momentum_product;
    NamedValues* const parts[] = {&out.parameters, &out.first_moments, &out.second_moments};
    for (size_t part = 0; part < 3; ++part) {
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

Result<ReferenceGradient> reference_gradient(const ModelOptions& options, const Buffer& tokens,
                                             uint32_t samples, uint32_t sequence) {
  if (auto errors = options.validate(); !errors.empty()) return errors.front();
  if (samples < 1 || sequence < 1 || sequence > static_cast<uint32_t>(options.sequence) ||
      tokens.size() != uint64_t{samples} * (sequence + 1) * sizeof(int32_t)) {
    return Error{ErrorCode::kShapeMismatch, "tokens: not int32 [samples, sequence + 1]", 0};
  }
  try {
    at::AutoGradMode mode(true);
    Gpt model(options);
    set_initial_values(model, options);
    Tensor loss = model->loss(to_window(tokens, samples, sequence));
    loss.backward();
    ReferenceGradient result;
    result.loss_sum = loss.item<double>();
    for (auto& item : model->named_parameters()) {
      result.gradients.emplace(global_name(item.key()), to_vector(item.value().grad()));
    }
    return result;
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
  }
}

}  // namespace swarm::tensor
