#include "tensor/one_process.h"

#include <torch/torch.h>

#include <chrono>
#include <cmath>

#include "tensor/gpt_layout.h"

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

torch::optim::AdamW make_optimizer(Gpt& model, const OptimizerOptions& o) {
  std::vector<Tensor> decayed, plain;
  for (auto& item : model->named_parameters()) {
    bool matrix = item.value().dim() == 2 && item.key().find("positions") == std::string::npos;
    (matrix ? decayed : plain).push_back(item.value());
  }
  auto options = [&](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(o.learning_rate)
                                                            .betas({o.beta1, o.beta2})
                                                            .eps(o.epsilon)
                                                            .weight_decay(decay));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(decayed, options(o.weight_decay));
  groups.emplace_back(plain, options(0));
  return torch::optim::AdamW(groups, torch::optim::AdamWOptions(o.learning_rate));
}

class Trainer {
 public:
  Trainer(const ReferenceOptions& options, const TextData& data)
      : options_(options), data_(data), model_(options.model) {
    set_initial_values(model_, options.model);
  }

  Result<ReferenceRun> run() {
    auto optimizer = make_optimizer(model_, options_.optimizer);
    ReferenceRun run;
    using Clock = std::chrono::steady_clock;
    auto start = Clock::now();
    for (uint64_t step = 0; step < options_.steps; ++step) {
      if (step == 1) start = Clock::now();
      double loss = accumulate(step);
      double norm = average_and_clip();
      if (!std::isfinite(loss) || !std::isfinite(norm)) {
        return Error{ErrorCode::kNonFinite, "reference: step " + std::to_string(step), 0};
      }
      const double rate = learning_rate(options_.optimizer, static_cast<int64_t>(step));
      for (auto& group : optimizer.param_groups()) {
        static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
      }
      optimizer.step();
      run.losses.push_back(loss / options_.batch);
      run.gradient_norms.push_back(norm);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const uint64_t timed = options_.steps > 1 ? options_.steps - 1 : options_.steps;
    const double tokens = double(timed) * options_.batch * options_.model.sequence;
    run.tokens_per_s = seconds > 0 ? tokens / seconds : 0;
    for (auto& item : model_->named_parameters()) {
      run.parameters.emplace(global_name(item.key()), to_vector(item.value()));
    }
    return run;
  }

 private:
  /// Loss sum of the step; its gradient sum is in the parameters.
  double accumulate(uint64_t step) {
    for (Tensor& p : model_->parameters()) p.mutable_grad() = Tensor();
    double sum = 0;
    const auto sequence = static_cast<uint32_t>(options_.model.sequence);
    for (uint32_t slot = 0; slot < options_.batch / options_.microbatch; ++slot) {
      const auto& skip = options_.skip_slot;
      if (skip && skip->step == step && skip->slot == slot) continue;
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

  double average_and_clip() {
    torch::NoGradGuard guard;
    double squared = 0;
    for (Tensor& p : model_->parameters()) {
      if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);
      p.mutable_grad().div_(static_cast<double>(options_.batch));
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

  const ReferenceOptions& options_;
  const TextData& data_;
  Gpt model_;
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

Result<ReferenceRun> train_reference(const ReferenceOptions& options, const TextData& data) {
  if (Status status = check(options, data); !status) return status.error();
  try {
    at::AutoGradMode mode(true);
    return Trainer(options, data).run();
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
  }
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
