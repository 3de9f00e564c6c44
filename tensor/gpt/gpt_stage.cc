#include "tensor/gpt/gpt_stage.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/check.h"
#include "tensor/core/codec.h"
#include "tensor/core/flat.h"
#include "tensor/core/optimizer.h"
#include "tensor/core/state_format.h"
#include "tensor/gpt/device.h"
#include "tensor/gpt/gpt_model.h"
#include "tensor/gpt/parameter_versions.h"

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

/// `values` themselves, or a copy that floats may be read from.
Buffer aligned_floats(const Buffer& values) {
  if (reinterpret_cast<uintptr_t>(values.data()) % alignof(float) == 0) return values;
  MutableBuffer moved = MutableBuffer::allocate(values.size());
  std::memcpy(moved.data(), values.data(), values.size());
  return moved.freeze();
}

torch::Device torch_device(const std::string& name) {
  const auto device = parse_device(name);
  SWARM_CHECK(device.ok());
  return device->cuda ? torch::Device(torch::kCUDA, device->index) : torch::Device(torch::kCPU);
}

bool all_finite(const Tensor& tensor) {
  if (!tensor.is_cpu()) return torch::isfinite(tensor).all().item<bool>();
  const Tensor values = tensor.scalar_type() == torch::kFloat32 ? tensor : tensor.to(torch::kFloat);
  if (!values.is_contiguous()) return torch::isfinite(values).all().item<bool>();
  return tensor::all_finite(values.data_ptr<float>(), static_cast<size_t>(values.numel()));
}

/// A microbatch that passed all checks, on the stage's device.
struct Checked {
  int64_t batch = 0, sequence = 0;
  Tensor input;    // int64 [B, T] in the first stage, else float32 [B * T, D]
  Tensor targets;  // int64 [B * T]; last stage
};

/// What waits for its gradient.
struct Kept {
  ParameterVersions::Held version;  // keep: the weights of the graph
  uint64_t updates = 0;             // of the optimizer before the forward
  StageInput input;                 // recompute
  Tensor leaf;                      // keep: input activations; undefined in the first stage
  Tensor output;                    // keep: end of the graph
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
               stage_layers(options.model, options.stage, options.num_stages), options.compute),
        device_(torch_device(options.device)),
        parameters_(layout_, options.compute, device_),
        optimizer_(make_optimizer(options.optimizer, layout_, run_parallel)) {
    gradients_ = torch::zeros({static_cast<int64_t>(size_)}, device_);
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
  Buffer parameters() const override { return copy(parameters_.values()); }
  size_t versions() const override;
  Buffer gradient_sum() const override {
    return copy(gradients_.to(torch::kCPU).data_ptr<float>());
  }
  void clear_gradients() override { gradients_.zero_(); }
  uint64_t step() const override { return step_; }
  uint64_t checksum() const override { return digest(parameters_.values(), size_ * sizeof(float)); }

  Status apply(const Buffer& gradient, double clip_scale) override;
  Result<LocalUpdate> apply_local(uint64_t samples, uint64_t lr_position) override;
  uint64_t updates() const override { return optimizer_->counters().updates; }
  std::optional<uint64_t> updates_at_forward(const MicrobatchKey& key) const override;
  Status set_step(uint64_t step) override;
  Result<Buffer> to_average(AveragedPart part) const override;
  Status take_average(AveragedPart part, const Buffer& average, const Buffer& sent) override;
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
  Result<Tensor> pull(const ParameterVersions::Held& version, const Tensor& end,
                      const Tensor& end_gradient, const Tensor& leaf, bool accumulate);
  void add_gradient(size_t index, const Tensor& gradient);
  EncodedTensor encode_rows(const Tensor& rows, int64_t batch, int64_t sequence,
                            proto::Codec codec) const;
  /// The current version's.
  const std::vector<Tensor>& compute_weights() {
    return parameters_.weights(parameters_.current());
  }
  void update(const float* gradient, uint64_t lr_position, double clip_scale);
  /// Before the parameters become others that no kept forward belongs to.
  void forget_passes() {
    kept_.clear();
    clear_gradients();
  }
  static void run_parallel(size_t n, const ParallelBody& body) {
    at::parallel_for(0, static_cast<int64_t>(n), 1 << 16, [&](int64_t from, int64_t to) {
      body(static_cast<size_t>(from), static_cast<size_t>(to));
    });
  }

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
  const torch::Device device_;
  ParameterVersions parameters_;
  const std::unique_ptr<Optimizer> optimizer_;
  Tensor gradients_;  // [size_], on the device
  std::map<MicrobatchKey, Kept> kept_;
  uint64_t step_ = 0;
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
  if (input.samples > most_samples(model, input.sequence)) {
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
  if (first_) out.input = all.narrow(1, 0, out.sequence).contiguous().to(device_);
  if (last_) out.targets = all.narrow(1, 1, out.sequence).reshape({-1}).to(device_);
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
  out.input = view_of(*values, {rows, width}).to(device_);
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
  kept.updates = updates();
  if (graph) kept.version = parameters_.current();
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
    kept.version = parameters_.current();
  }
  const Tensor seed = view_of(*values, {rows, width}).to(device_);
  auto pulled = pull(kept.version, kept.output, seed, kept.leaf, accumulate);
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
  auto pulled = pull(parameters_.current(), loss, {}, leaf, accumulate);
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
  Tensor logits = model_.logits(weights, x).to(torch::kCPU).contiguous();
  if (!all_finite(logits)) return non_finite("logits are not finite");
  return share(logits);
}

/// Gradients of `end` (weighted by `end_gradient`) by `leaf`, returned, and by the weights of
/// `version`, which `end` was computed with, added to the sum if `accumulate`. All are checked
/// before any is added.
Result<Tensor> TorchStage::pull(const ParameterVersions::Held& version, const Tensor& end,
                                const Tensor& end_gradient, const Tensor& leaf, bool accumulate) {
  std::vector<Tensor> inputs;
  if (accumulate) inputs = parameters_.weights(version);
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
    for (size_t i = 0; i < layout_.size(); ++i) add_gradient(i, found[i]);
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
  return encode(share(rows.to(torch::kCPU).contiguous()), {batch, sequence, options_.model.width},
                codec);
}

// ---- parameters
// ----------------------------------------------------------------------------------

size_t TorchStage::versions() const {
  std::set<const void*> seen = {parameters_.current().get()};
  for (const auto& [key, kept] : kept_) {
    if (kept.version) seen.insert(kept.version.get());
  }
  return seen.size();
}

std::optional<uint64_t> TorchStage::updates_at_forward(const MicrobatchKey& key) const {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return {};
  return found->second.updates;
}

void TorchStage::update(const float* gradient, uint64_t lr_position, double clip_scale) {
  parameters_.change([&](const float* from, float* to) {
    optimizer_->step(gradient, lr_position, clip_scale, from, to);
  });
}

Status TorchStage::apply(const Buffer& gradient, double clip_scale) {
  if (gradient.size() != size_ * sizeof(float)) {
    return mismatch("gradient: expected " + std::to_string(size_ * sizeof(float)) + " bytes (got " +
                    std::to_string(gradient.size()) + ")");
  }
  if (!std::isfinite(clip_scale) || clip_scale < 0) return invalid("clip_scale: must be >= 0");
  const Buffer aligned = aligned_floats(gradient);
  const auto* g = reinterpret_cast<const float*>(aligned.data());
  if (!tensor::all_finite(g, size_)) return non_finite("gradient: not finite; nothing was applied");
  forget_passes();  // also lets go of the weights, so that they change in place
  update(g, step_, clip_scale);
  ++step_;
  return {};
}

Result<LocalUpdate> TorchStage::apply_local(uint64_t samples, uint64_t lr_position) {
  if (samples == 0) return invalid("apply_local: there are no samples to divide by");
  return guarded<LocalUpdate>([&]() -> Result<LocalUpdate> {
    // The mean and its norm exactly as a round of averaging among one peer makes them.
    Tensor sum = gradients_.to(torch::kCPU);  // in place if it is there already
    auto* g = sum.data_ptr<float>();
    tensor::scale(g, size_, static_cast<float>(1.0 / static_cast<double>(samples)));
    LocalUpdate done;
    done.gradient_norm = std::sqrt(tensor::squared_norm(g, size_));
    if (!std::isfinite(done.gradient_norm)) {
      clear_gradients();
      return non_finite("gradient sum: not finite; nothing was applied");
    }
    done.clip_scale = tensor::clip_scale(options_.optimizer, done.gradient_norm);
    update(g, lr_position, done.clip_scale);
    clear_gradients();
    done.updates = updates();
    return done;
  });
}

Status TorchStage::set_step(uint64_t step) {
  if (step > kMaxStep) return invalid("step: " + std::to_string(step) + " is too large");
  step_ = step;
  return {};
}

Result<Buffer> TorchStage::to_average(AveragedPart part) const {
  if (part == AveragedPart::kWeights) return parameters_.share();
  return guarded<Buffer>([&] {
    MutableBuffer out = MutableBuffer::allocate(3 * size_ * sizeof(float));
    std::memcpy(out.data(), parameters_.values(), size_ * sizeof(float));
    std::memcpy(out.data() + size_ * sizeof(float), optimizer_->moments(),
                optimizer_->moments_bytes());
    return out.freeze();
  });
}

Status TorchStage::take_average(AveragedPart part, const Buffer& average, const Buffer& sent) {
  const uint64_t n = part == AveragedPart::kWeights ? size_ : 3 * size_;
  for (const Buffer* buffer : {&average, &sent}) {
    if (buffer->size() == n * sizeof(float)) continue;
    return mismatch("average: expected " + std::to_string(n * sizeof(float)) + " bytes (got " +
                    std::to_string(buffer->size()) + ")");
  }
  auto taken = guarded<bool>([&]() -> Result<bool> {
    const Buffer mean = aligned_floats(average), old = aligned_floats(sent);
    const auto* a = reinterpret_cast<const float*>(mean.data());
    const auto* s = reinterpret_cast<const float*>(old.data());
    if (!tensor::all_finite(a, n) || !tensor::all_finite(s, n))
      return non_finite("average: not finite; nothing was taken");
    parameters_.change(
        [&](const float* from, float* to) { add_difference(from, a, s, to, size_); });
    if (part == AveragedPart::kWeights) return true;
    float* moments = optimizer_->moments();
    add_difference(moments, a + size_, s + size_, moments, 2 * size_);
    for (uint64_t i = size_; i < 2 * size_; ++i) moments[i] = std::max(moments[i], 0.0f);
    return true;
  });
  return taken ? Status() : Status(taken.error());
}

Buffer TorchStage::save_state() const {
  proto::StageState head;
  head.set_stage(static_cast<uint32_t>(options_.stage));
  head.set_num_stages(static_cast<uint32_t>(options_.num_stages));
  head.set_step(step_);
  head.set_config_fingerprint(options_.config_fingerprint);
  head.set_num_parameters(size_);
  put_optimizer(optimizer_->kind(), optimizer_->counters(), head);
  return serialize_state(head, {{parameters_.values(), size_ * sizeof(float)},
                                {optimizer_->moments(), optimizer_->moments_bytes()}});
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
  if (optimizer_kind(head) != optimizer_->kind()) {
    return mismatch(std::string("state: is of optimizer ") + to_string(optimizer_kind(head)) +
                    ", expected " + to_string(optimizer_->kind()));
  }
  const uint8_t* values = view->payload.data();
  const uint64_t bytes = size_ * sizeof(float);
  if (Status status = optimizer_->restore(optimizer_counters(head), values + bytes); !status)
    return status;
  forget_passes();
  parameters_.change([&](const float*, float* to) { std::memcpy(to, values, bytes); });
  step_ = head.step();
  return {};
}

void TorchStage::initialize() {
  forget_passes();
  parameters_.change([&](const float*, float* to) {
    for (const ParameterInfo& info : layout_) {
      initial_values(options_.model.seed, info, to + info.offset);
    }
  });
  optimizer_->reset();
  step_ = 0;
}

}  // namespace

Result<std::unique_ptr<GptStage>> open_gpt_stage(const StageOptions& options) {
  if (Status status = options.validate(); !status) return status.error();
  if (Status status = check_device(options.device); !status) return status.error();
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
