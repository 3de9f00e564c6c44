#include "tensor/gpt_stage.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "common/check.h"
#include "tensor/codec.h"
#include "tensor/flat.h"
#include "tensor/gpt_model.h"
#include "tensor/state_format.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;

Error mismatch(std::string text) { return {ErrorCode::kShapeMismatch, std::move(text), 0}; }
Error invalid(std::string text) { return {ErrorCode::kInvalidArgument, std::move(text), 0}; }
Error non_finite(std::string text) { return {ErrorCode::kNonFinite, std::move(text), 0}; }

/// Memory of a float32 tensor as a Buffer that keeps the tensor alive.
Buffer share(const Tensor& tensor) {
  auto owner = std::make_shared<const Tensor>(tensor);
  return {owner, tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel()) * sizeof(float)};
}

/// A float32 tensor that reads a Buffer and keeps it alive. Nobody writes to it.
Tensor view_of(const Buffer& values, at::IntArrayRef shape) {
  auto* data = const_cast<uint8_t*>(values.data());
  return torch::from_blob(
      data, shape, [values](void*) {}, torch::kFloat32);
}

bool all_finite(const Tensor& tensor) {
  const Tensor values = tensor.scalar_type() == torch::kFloat32 ? tensor : tensor.to(torch::kFloat);
  if (!values.is_contiguous()) return torch::isfinite(values).all().item<bool>();
  return tensor::all_finite(values.data_ptr<float>(), static_cast<size_t>(values.numel()));
}

/// A microbatch that passed all checks.
struct Checked {
  int64_t batch = 0, sequence = 0;
  Tensor input;    // int64 [B, T] in the first stage, else float32 [B * T, D]
  Tensor targets;  // int64 [B * T]; last stage
};

/// What waits for its gradient.
struct Kept {
  StageInput input;  // recompute
  Tensor leaf;       // keep: input activations; undefined in the first stage
  Tensor output;     // keep: end of the graph
  int64_t batch = 0, sequence = 0;
};

class TorchStage final : public GptStage {
 public:
  TorchStage(const StageOptions& options, proto::Codec activations, proto::Codec gradients)
      : options_(options),
        activation_codec_(activations),
        gradient_codec_(gradients),
        first_(options.stage == 0),
        last_(options.stage == options.num_stages - 1),
        layout_(gpt_layout(options.model, options.stage, options.num_stages)),
        size_(layout_size(layout_)),
        model_(options.model, first_, last_,
               stage_layers(options.model, options.stage, options.num_stages), options.compute) {
    state_ = torch::empty({3, static_cast<int64_t>(size_)});
    gradients_ = torch::zeros({static_cast<int64_t>(size_)});
    for (const ParameterInfo& info : layout_) {
      auto offset = static_cast<int64_t>(info.offset), size = static_cast<int64_t>(info.size);
      Tensor view = state_[0].narrow(0, offset, size).view(info.shape);
      weights_.push_back(view.detach().requires_grad_());
    }
    initialize();
  }

  Result<EncodedTensor> forward(const MicrobatchKey& key, const StageInput& input,
                                bool forward_only) override {
    return guarded<EncodedTensor>([&] { return do_forward(key, input, forward_only); });
  }
  Result<EncodedTensor> backward(const MicrobatchKey& key, const EncodedTensor& gradient,
                                 bool accumulate) override {
    return guarded<EncodedTensor>([&] { return do_backward(key, gradient, accumulate); });
  }
  Result<LossResult> forward_backward(const MicrobatchKey&, const StageInput& input,
                                      bool accumulate, bool forward_only) override {
    return guarded<LossResult>([&] { return do_loss(input, accumulate, forward_only); });
  }
  Result<Buffer> next_logits(const StageInput& input) override {
    return guarded<Buffer>([&] { return do_next_logits(input); });
  }

  void drop(const MicrobatchKey& key) override { kept_.erase(key); }
  size_t kept() const override { return kept_.size(); }
  uint64_t num_parameters() const override { return size_; }
  const std::vector<ParameterInfo>& layout() const override { return layout_; }
  Buffer parameters() const override { return copy(values(0)); }
  Buffer gradient_sum() const override { return copy(gradients_.data_ptr<float>()); }
  void clear_gradients() override {
    std::memset(gradients_.data_ptr<float>(), 0, size_ * sizeof(float));
  }
  uint64_t step() const override { return step_; }
  uint64_t checksum() const override { return digest(values(0), size_ * sizeof(float)); }

  Status apply(const Buffer& gradient, double clip_scale) override;
  Buffer save_state() const override;
  Status load_state(const Buffer& state) override;
  void initialize() override;

 private:
  Result<EncodedTensor> do_forward(const MicrobatchKey& key, const StageInput& input,
                                   bool forward_only);
  Result<EncodedTensor> do_backward(const MicrobatchKey& key, const EncodedTensor& gradient,
                                    bool accumulate);
  Result<LossResult> do_loss(const StageInput& input, bool accumulate, bool forward_only);
  Result<Buffer> do_next_logits(const StageInput& input);

  Result<Checked> check(const StageInput& input) const;
  Status check_sizes(const StageInput& input) const;
  Status check_shape(const char* what, const proto::Tensor& meta, int64_t batch,
                     int64_t sequence) const;
  Status read_tokens(const StageInput& input, Checked& out) const;
  Result<Tensor> pull(const Tensor& end, const Tensor& end_gradient, const Tensor& leaf,
                      bool accumulate);
  void add_gradient(size_t index, const Tensor& gradient);
  EncodedTensor encode_rows(const Tensor& rows, int64_t batch, int64_t sequence,
                            proto::Codec codec) const;
  const std::vector<Tensor>& compute_weights();
  void parameters_changed();

  float* values(int part) const { return state_.data_ptr<float>() + size_ * part; }
  Buffer copy(const float* from) const {
    MutableBuffer out = MutableBuffer::allocate(size_ * sizeof(float));
    std::memcpy(out.data(), from, size_ * sizeof(float));
    return out.freeze();
  }

  /// Exceptions of LibTorch stop here.
  template <class T, class F>
  static Result<T> guarded(F function) {
    try {
      return function();
    } catch (const std::exception& e) {
      return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
    }
  }

  const StageOptions options_;
  const proto::Codec activation_codec_, gradient_codec_;
  const bool first_, last_;
  const std::vector<ParameterInfo> layout_;
  const uint64_t size_;
  GptModel model_;
  Tensor state_;                      // [3, size_]: parameters, first and second moments
  Tensor gradients_;                  // [size_]
  std::vector<Tensor> weights_;       // leaves, views of state_[0]
  std::vector<Tensor> bf16_weights_;  // leaves; matrices and biases cast, norms shared; or empty
  std::map<MicrobatchKey, Kept> kept_;
  uint64_t step_ = 0, updates_ = 0;
};

// ---- input
// ---------------------------------------------------------------------------------------

Status TorchStage::check_sizes(const StageInput& input) const {
  const ModelOptions& model = options_.model;
  if (input.samples < 1 || input.sequence < 1) return invalid("microbatch: no samples or tokens");
  if (input.sequence > static_cast<uint32_t>(model.sequence)) {
    return invalid("microbatch: sequence " + std::to_string(input.sequence) +
                   " is longer than the model's " + std::to_string(model.sequence));
  }
  const uint64_t sequence = input.sequence;
  uint64_t widest = static_cast<uint64_t>(std::max({model.width * 3, model.ffn, model.vocabulary}));
  widest = std::max(widest, sequence * static_cast<uint64_t>(model.heads));
  if (input.samples > kMaxTensorBytes / sizeof(float) / widest / sequence) {
    return invalid("microbatch: " + std::to_string(input.samples) +
                   " samples need tensors larger than " + std::to_string(kMaxTensorBytes) +
                   " bytes");
  }
  return {};
}

Status TorchStage::check_shape(const char* what, const proto::Tensor& meta, int64_t batch,
                               int64_t sequence) const {
  const int64_t shape[] = {batch, sequence, options_.model.width};
  if (std::equal(meta.shape().begin(), meta.shape().end(), shape, shape + 3)) return {};
  return mismatch(std::string(what) + ": shape must be [B, T, D] = [" + std::to_string(shape[0]) +
                  ", " + std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + "]");
}

Status TorchStage::read_tokens(const StageInput& input, Checked& out) const {
  const uint64_t row = static_cast<uint64_t>(input.sequence) + 1;
  if (input.tokens.size() != input.samples * row * sizeof(int32_t)) {
    return mismatch("tokens: [" + std::to_string(input.samples) + ", " + std::to_string(row) +
                    "] int32 take " + std::to_string(input.samples * row * sizeof(int32_t)) +
                    " bytes, but there are " + std::to_string(input.tokens.size()));
  }
  Tensor all = torch::empty({out.batch, out.sequence + 1}, torch::kInt64);
  auto* to = all.data_ptr<int64_t>();
  for (uint64_t i = 0; i < input.samples * row; ++i) {
    int32_t token;
    std::memcpy(&token, input.tokens.data() + i * sizeof token, sizeof token);
    if (token < 0 || token >= options_.model.vocabulary) {
      return invalid("tokens: " + std::to_string(token) + " is not in [0, " +
                     std::to_string(options_.model.vocabulary) + ")");
    }
    to[i] = token;
  }
  if (first_) out.input = all.narrow(1, 0, out.sequence).contiguous();
  if (last_) out.targets = all.narrow(1, 1, out.sequence).reshape({-1});
  return {};
}

Result<Checked> TorchStage::check(const StageInput& input) const {
  if (Status status = check_sizes(input); !status) return status.error();
  Checked out;
  out.batch = input.samples;
  out.sequence = input.sequence;
  if (first_ || last_) {
    if (Status status = read_tokens(input, out); !status) return status.error();
  }
  if (first_) {
    if (!input.activations.empty()) return invalid("activations: the first stage takes none");
    return out;
  }
  if (Status status = check_shape("activations", input.activations.meta, out.batch, out.sequence);
      !status) {
    return status.error();
  }
  const int64_t width = options_.model.width;
  const int64_t rows = out.batch * out.sequence;
  auto values = decode_flat(input.activations, static_cast<uint64_t>(rows * width));
  if (!values) return values.error();
  if (!tensor::all_finite(reinterpret_cast<const float*>(values->data()), values->size() / 4)) {
    return non_finite("activations received are not finite");
  }
  out.input = view_of(*values, {rows, width});
  return out;
}

// ---- passes
// --------------------------------------------------------------------------------------

Result<EncodedTensor> TorchStage::do_forward(const MicrobatchKey& key, const StageInput& input,
                                             bool forward_only) {
  if (last_) return invalid("forward: the last stage does forward and backward in one visit");
  if (kept_.count(key) != 0) {
    return Error{ErrorCode::kAlreadyExists, "forward: this attempt already waits", 0};
  }
  auto checked = check(input);
  if (!checked) return checked.error();
  const bool graph = !forward_only && options_.backward == BackwardPolicy::kKeep;
  at::AutoGradMode mode(graph);
  Kept kept;
  kept.batch = checked->batch;
  kept.sequence = checked->sequence;
  if (graph && !first_) kept.leaf = checked->input.requires_grad_();
  Tensor output =
      model_.blocks(compute_weights(), checked->input, checked->batch, checked->sequence);
  Tensor rows = output.detach();
  if (!all_finite(rows)) return non_finite("activations computed are not finite");
  if (!forward_only) {
    graph ? void(kept.output = output) : void(kept.input = input);
    kept_.emplace(key, std::move(kept));
  }
  return encode_rows(rows, checked->batch, checked->sequence, activation_codec_);
}

Result<EncodedTensor> TorchStage::do_backward(const MicrobatchKey& key,
                                              const EncodedTensor& gradient, bool accumulate) {
  auto found = kept_.find(key);
  if (found == kept_.end()) {
    return Error{ErrorCode::kNotFound, "backward: no forward of this attempt is kept", 0};
  }
  const int64_t batch = found->second.batch, sequence = found->second.sequence;
  const int64_t width = options_.model.width, rows = batch * sequence;
  if (Status status = check_shape("gradient", gradient.meta, batch, sequence); !status) {
    return status.error();
  }
  auto values = decode_flat(gradient, static_cast<uint64_t>(rows * width));
  if (!values) return values.error();
  Kept kept = std::move(found->second);
  kept_.erase(found);
  at::AutoGradMode mode(true);
  if (options_.backward == BackwardPolicy::kRecompute) {
    auto checked = check(kept.input);
    if (!checked) return checked.error();
    if (!first_) kept.leaf = checked->input.requires_grad_();
    kept.output =
        model_.blocks(compute_weights(), checked->input, checked->batch, checked->sequence);
  }
  auto pulled = pull(kept.output, view_of(*values, {rows, width}), kept.leaf, accumulate);
  if (!pulled) return pulled.error();
  if (first_) return EncodedTensor{};
  return encode_rows(*pulled, batch, sequence, gradient_codec_);
}

Result<LossResult> TorchStage::do_loss(const StageInput& input, bool accumulate,
                                       bool forward_only) {
  if (!last_) return invalid("forward_backward: only the last stage has the loss");
  auto checked = check(input);
  if (!checked) return checked.error();
  at::AutoGradMode mode(!forward_only);
  Tensor leaf;
  if (!first_) leaf = forward_only ? checked->input : checked->input.requires_grad_();
  const auto& weights = compute_weights();
  Tensor x = model_.blocks(weights, checked->input, checked->batch, checked->sequence);
  Tensor loss = torch::cross_entropy_loss(model_.logits(weights, x), checked->targets, {},
                                          at::Reduction::Sum) /
                static_cast<double>(checked->sequence);
  LossResult result;
  result.loss_sum = loss.item<float>();
  if (!std::isfinite(result.loss_sum)) return non_finite("loss is not finite");
  if (forward_only) return result;
  if (first_ && !accumulate) return result;
  auto pulled = pull(loss, {}, leaf, accumulate);
  if (!pulled) return pulled.error();
  if (!first_) {
    result.gradient = encode_rows(*pulled, checked->batch, checked->sequence, gradient_codec_);
  }
  return result;
}

Result<Buffer> TorchStage::do_next_logits(const StageInput& input) {
  if (!last_) return invalid("next_logits: only the last stage has the head");
  auto checked = check(input);
  if (!checked) return checked.error();
  at::NoGradGuard guard;
  const auto& weights = compute_weights();
  Tensor x = model_.blocks(weights, checked->input, checked->batch, checked->sequence);
  x = x.view({checked->batch, checked->sequence, options_.model.width}).select(1, -1);
  Tensor logits = model_.logits(weights, x).contiguous();
  if (!all_finite(logits)) return non_finite("logits are not finite");
  return share(logits);
}

/// Gradients of `end` (weighted by `end_gradient`) by `leaf`, returned, and by the weights, added
/// to the sum if `accumulate`. All are checked before any is added.
Result<Tensor> TorchStage::pull(const Tensor& end, const Tensor& end_gradient, const Tensor& leaf,
                                bool accumulate) {
  std::vector<Tensor> inputs;
  if (accumulate) inputs = compute_weights();
  if (leaf.defined()) inputs.push_back(leaf);
  if (inputs.empty()) return Tensor{};
  std::vector<Tensor> seeds;
  if (end_gradient.defined()) seeds.push_back(end_gradient);
  std::vector<Tensor> found = torch::autograd::grad({end}, inputs, seeds);
  at::NoGradGuard guard;
  for (const Tensor& gradient : found) {
    if (!all_finite(gradient)) return non_finite("gradient is not finite; nothing was added");
  }
  if (accumulate) {
    for (size_t i = 0; i < weights_.size(); ++i) add_gradient(i, found[i]);
  }
  return leaf.defined() ? found.back().contiguous() : Tensor{};
}

void TorchStage::add_gradient(size_t index, const Tensor& gradient) {
  const ParameterInfo& info = layout_[index];
  const auto size = static_cast<int64_t>(info.size);
  Tensor sum = gradients_.narrow(0, static_cast<int64_t>(info.offset), size).view(info.shape);
  sum.add_(gradient);
}

EncodedTensor TorchStage::encode_rows(const Tensor& rows, int64_t batch, int64_t sequence,
                                      proto::Codec codec) const {
  return encode(share(rows.contiguous()), {batch, sequence, options_.model.width}, codec);
}

// ---- parameters
// ----------------------------------------------------------------------------------

const std::vector<Tensor>& TorchStage::compute_weights() {
  if (options_.compute == ComputeType::kFp32) return weights_;
  if (!bf16_weights_.empty()) return bf16_weights_;
  at::NoGradGuard guard;
  for (size_t i = 0; i < weights_.size(); ++i) {
    const std::string& name = layout_[i].name;
    bool wide = name.find("norm") != std::string::npos || name.find("embedding") == 0;
    bf16_weights_.push_back(wide ? weights_[i]
                                 : weights_[i].detach().to(torch::kBFloat16).requires_grad_());
  }
  return bf16_weights_;
}

void TorchStage::parameters_changed() {
  kept_.clear();
  bf16_weights_.clear();
  clear_gradients();
}

Status TorchStage::apply(const Buffer& gradient, double clip_scale) {
  if (gradient.size() != size_ * sizeof(float)) {
    return mismatch("gradient: expected " + std::to_string(size_ * sizeof(float)) + " bytes (got " +
                    std::to_string(gradient.size()) + ")");
  }
  if (!std::isfinite(clip_scale) || clip_scale < 0) return invalid("clip_scale: must be >= 0");
  Buffer aligned = gradient;
  if (reinterpret_cast<uintptr_t>(gradient.data()) % alignof(float) != 0) {
    MutableBuffer moved = MutableBuffer::allocate(gradient.size());
    std::memcpy(moved.data(), gradient.data(), gradient.size());
    aligned = moved.freeze();
  }
  const auto* g = reinterpret_cast<const float*>(aligned.data());
  if (!tensor::all_finite(g, size_)) return non_finite("gradient: not finite; nothing was applied");
  const OptimizerOptions& o = options_.optimizer;
  const auto t = static_cast<double>(++updates_);
  AdamwStep step;
  step.learning_rate = static_cast<float>(learning_rate(o, static_cast<int64_t>(step_)));
  step.beta1 = static_cast<float>(o.beta1);
  step.beta2 = static_cast<float>(o.beta2);
  step.epsilon = static_cast<float>(o.epsilon);
  step.gradient_scale = static_cast<float>(clip_scale);
  step.correction1 = static_cast<float>(1 / (1 - std::pow(o.beta1, t)));
  step.correction2 = static_cast<float>(1 / (1 - std::pow(o.beta2, t)));
  for (const ParameterInfo& info : layout_) {
    step.weight_decay = info.decayed ? static_cast<float>(o.weight_decay) : 0;
    at::parallel_for(0, static_cast<int64_t>(info.size), 1 << 16, [&](int64_t from, int64_t to) {
      const uint64_t at = info.offset + static_cast<uint64_t>(from);
      adamw_update(step, values(0) + at, values(1) + at, values(2) + at, g + at,
                   static_cast<size_t>(to - from));
    });
  }
  ++step_;
  parameters_changed();
  return {};
}

Buffer TorchStage::save_state() const {
  proto::StageState head;
  head.set_format_version(kStateFormatVersion);
  head.set_stage(static_cast<uint32_t>(options_.stage));
  head.set_num_stages(static_cast<uint32_t>(options_.num_stages));
  head.set_step(step_);
  head.set_config_fingerprint(options_.config_fingerprint);
  head.set_num_parameters(size_);
  head.set_updates(updates_);
  return serialize_state(head, values(0), 3 * size_ * sizeof(float));
}

Status TorchStage::load_state(const Buffer& state) {
  auto view = parse_state(state);
  if (!view) return view.error();
  const proto::StageState& head = view->head;
  if (head.config_fingerprint() != options_.config_fingerprint) {
    return mismatch("state: belongs to another configuration (fingerprint differs)");
  }
  if (head.stage() != static_cast<uint32_t>(options_.stage) ||
      head.num_stages() != static_cast<uint32_t>(options_.num_stages)) {
    return mismatch("state: is of stage " + std::to_string(head.stage()) + " of " +
                    std::to_string(head.num_stages()) + ", expected " +
                    std::to_string(options_.stage) + " of " + std::to_string(options_.num_stages));
  }
  if (head.num_parameters() != size_) {
    return mismatch("state: has " + std::to_string(head.num_parameters()) +
                    " parameters, the model has " + std::to_string(size_));
  }
  std::memcpy(values(0), view->payload.data(), view->payload.size());
  step_ = head.step();
  updates_ = head.updates();
  parameters_changed();
  return {};
}

void TorchStage::initialize() {
  for (const ParameterInfo& info : layout_) {
    initial_values(options_.model.seed, info, values(0) + info.offset);
  }
  std::memset(values(1), 0, 2 * size_ * sizeof(float));
  step_ = updates_ = 0;
  parameters_changed();
}

Status check_options(const StageOptions& options) {
  for (const auto& errors : {options.model.validate(), options.optimizer.validate()}) {
    if (!errors.empty()) return errors.front();
  }
  if (options.num_stages < 1 || options.num_stages > options.model.layers) {
    return invalid("stages: must be between 1 and model.layers (got " +
                   std::to_string(options.num_stages) + ")");
  }
  if (options.stage < 0 || options.stage >= options.num_stages) {
    return invalid("stage: must be in [0, stages) (got " + std::to_string(options.stage) + ")");
  }
  size_t split = options.model.layers_per_stage.size();
  if (split != 0 && split != static_cast<size_t>(options.num_stages)) {
    return invalid("model.layers_per_stage: names " + std::to_string(split) +
                   " stages, there are " + std::to_string(options.num_stages));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<GptStage>> open_gpt_stage(const StageOptions& options) {
  if (Status status = check_options(options); !status) return status.error();
  auto activations = parse_codec(options.activation_codec);
  if (!activations) return activations.error();
  auto gradients = parse_codec(options.gradient_codec);
  if (!gradients) return gradients.error();
  try {
    std::unique_ptr<GptStage> stage =
        std::make_unique<TorchStage>(options, *activations, *gradients);
    return stage;
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
  }
}

Result<std::unique_ptr<Stage>> make_gpt_stage(const StageOptions& options) {
  auto stage = open_gpt_stage(options);
  if (!stage) return stage.error();
  return std::unique_ptr<Stage>(std::move(*stage));
}

}  // namespace swarm::tensor
