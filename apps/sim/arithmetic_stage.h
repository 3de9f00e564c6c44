/// A stage whose arithmetic is exact: a sample counted twice or not at all shows in the bits.
///
/// Parameters: kParameters floats, or as many as a test wants (what is said of parameter i is then
/// true of i modulo kParameters). The gradient of a sample at parameter i is (v + stage) * (i +
/// 1), v its first token; an update subtracts the mean. All values are small integers times powers
/// of two, so sums do not depend on their order. Activations count the stages passed.
///
/// If its state has a weight the gradient is gradient_of(): it depends on the parameters of every
/// stage at the time of the forward pass, and on the stage's own at the time of the backward, by
/// integers from 0 to 7. So weights of another step, or of another history, show in the next
/// parameters. Activations carry the sum of what the stages passed add to it, gradients that of all.
///
/// Two moments for each parameter, as most optimizers have: nothing depends on them, but they
/// depend on every gradient and on the number of updates, so that a state put together wrongly
/// shows.
///
/// The last parameter stands for rounding: what a sample adds to it differs from peer to peer, so
/// that replicas which trained apart from one another have other bits, as in a model.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "apps/sim/arithmetic_state.h"
#include "common/strong_id.h"
#include "swarm/state.pb.h"
#include "tensor/core/codec.h"
#include "tensor/core/flat.h"
#include "tensor/core/stage.h"

namespace swarm::sim {

constexpr uint64_t kParameters = 40;
constexpr uint64_t kExactParameters = kParameters - 1;

/// First token of a training sample of the fake data.
inline int32_t sample_value(uint64_t sample) { return static_cast<int32_t>(sample * 7 % 31); }

/// Of one sample, at the first parameter. `weights`: the sum of weight_of() over all stages, `own`:
/// of this one.
inline int64_t gradient_of(int32_t value, uint32_t stage, int64_t weights, int64_t own) {
  return value + static_cast<int64_t>(stage) + weights % 8 + own;
}
/// In an activation, beside the number of stages passed, which is less than this.
constexpr int64_t kWeightsUnit = 32;

class ArithmeticStage;

/// What a stage did, for checks of the asynchronous mode, whose parameters have no closed form.
struct StageNote {
  enum class What {
    kTrained,   ///< The gradient of `key` entered the sum.
    kUpdated,   ///< A local update subtracted `value` from the first parameter.
    kSent,      ///< A round takes the parameters; `value` is the first.
    kAveraged,  ///< A round ends: `value` is the first of the average, `sent` that of kSent.
    kSaved,     ///< The parameters went into a state.
  };
  What what = What::kTrained;
  tensor::MicrobatchKey key{};
  float value = 0;
  float sent = 0;
  uint64_t samples = 0;  ///< Of kUpdated.
};
using StageNoted = std::function<void(const ArithmeticStage&, const StageNote&)>;

inline std::vector<int32_t> values_of(const tensor::StageInput& input) {
  std::vector<int32_t> values(input.samples);
  for (uint32_t i = 0; i < input.samples; ++i)
    std::memcpy(&values[i], input.tokens.data() + uint64_t{i} * (input.sequence + 1) * 4, 4);
  return values;
}

inline tensor::EncodedTensor encode(const std::vector<float>& values,
                                    const tensor::StageInput& input) {
  return tensor::encode(values.data(), {input.samples, input.sequence, 1}, tensor::Codec::kNone);
}

inline Buffer copy_of(const std::vector<float>& values) {
  return Buffer::from_string(
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
}

/// As float32, checked: they count the stages passed. Errors: those of decode_flat(), kInternal.
inline Result<std::vector<float>> activations_of(const tensor::StageInput& input, uint32_t stage) {
  uint64_t n = uint64_t{input.samples} * input.sequence;
  if (stage == 0) return std::vector<float>(n, 0.0f);
  auto decoded = tensor::decode_flat(input.activations, n);
  if (!decoded) return decoded.error();
  std::vector<float> values(n);
  std::memcpy(values.data(), decoded->data(), n * 4);
  for (float v : values)
    if (static_cast<int64_t>(v) % kWeightsUnit != stage)
      return Error{ErrorCode::kInternal, "wrong activations"};
  return values;
}

class ArithmeticStage : public tensor::Stage {
 public:
  /// Called whenever the parameters have changed: "initialized", "loaded", "settled" (learned in ranges, and
  /// not yet compared with what the replicas have) or "updated".
  using Changed = std::function<void(const ArithmeticStage&, const char* how)>;

  /// Whether this stage finds the microbatch's gradient not finite; null: none.
  std::function<bool(const tensor::MicrobatchKey&)> not_finite;
  bool fails_next = false;  ///< The next microbatch that the last stage is to learn from fails.
  /// What a sample adds to the last parameter is less than 2 to this. Codecs scale by the largest value of a
  /// block: beside this one they may see nothing else.
  int rounding_bits = 16;

  /// `noise` seeds this peer's rounding.
  explicit ArithmeticStage(uint32_t stage, Changed changed = {}, uint64_t noise = 0,
                           StageNoted noted = {},
                           ArithmeticState state = ArithmeticState(kParameters))
      : stage_(stage),
        changed_(std::move(changed)),
        noted_(noted ? std::move(noted) : [](const ArithmeticStage&, const StageNote&) {}),
        noise_(noise),
        state_(std::move(state)),
        sum_(state_.size(), 0.0f) {}

  Result<tensor::EncodedTensor> forward(const tensor::MicrobatchKey& key,
                                        const tensor::StageInput& input,
                                        bool forward_only) override {
    auto in = activations_of(input, stage_);
    if (!in) return in.error();
    if (!forward_only) kept_[key] = values_of(input);
    if (!forward_only) forwards_[key] = updates_;
    for (float& x : *in) x += 1.0f + static_cast<float>(kWeightsUnit * state_.weight());
    return encode(*in, input);
  }

  Result<tensor::EncodedTensor> backward(const tensor::MicrobatchKey& key,
                                         const tensor::EncodedTensor& gradient,
                                         bool accumulate) override {
    auto kept = kept_.extract(key);
    forwards_.erase(key);
    if (kept.empty()) return Error{ErrorCode::kNotFound, "no forward of that microbatch"};
    if (auto ok = tensor::check_tensor(gradient.meta, gradient.data.size()); !ok) return ok.error();
    auto values = tensor::decode_flat(gradient, gradient.data.size() / sizeof(float));
    if (!values) return values.error();
    if (not_finite && not_finite(key)) return Error{ErrorCode::kNonFinite, "its gradient"};
    float first = 0;
    if (!values->empty()) std::memcpy(&first, values->data(), sizeof(first));
    if (accumulate) add(key, kept.mapped(), static_cast<int64_t>(first) / kWeightsUnit);
    return stage_ == 0 ? tensor::EncodedTensor{} : gradient;
  }

  Result<tensor::LossResult> forward_backward(const tensor::MicrobatchKey& key,
                                              const tensor::StageInput& input, bool accumulate,
                                              bool forward_only) override {
    auto in = activations_of(input, stage_);
    if (!in) return in.error();
    if (!forward_only && std::exchange(fails_next, false))
      return Error{ErrorCode::kInternal, "the device has failed once"};
    if (!forward_only && not_finite && not_finite(key))
      return Error{ErrorCode::kNonFinite, "its loss"};
    auto values = values_of(input);
    for (float& x : *in) x += static_cast<float>(kWeightsUnit * state_.weight());
    const int64_t weights = in->empty() ? 0 : static_cast<int64_t>(in->front()) / kWeightsUnit;
    if (accumulate && !forward_only) add(key, values, weights);
    tensor::LossResult result;
    for (int32_t v : values) result.loss_sum += v;
    if (stage_ > 0 && !forward_only) result.gradient = encode(*in, input);
    return result;
  }

  void drop(const tensor::MicrobatchKey& key) override {
    kept_.erase(key);
    forwards_.erase(key);
  }
  size_t kept() const override { return kept_.size(); }
  uint64_t num_parameters() const override { return state_.size(); }
  Buffer gradient_sum() const override { return copy_of(sum_); }
  void clear_gradients() override { sum_.assign(sum_.size(), 0.0f); }

  Result<tensor::UpdateScales> apply(const Buffer& gradient, double clip_scale) override {
    if (!state_.update(0, state_.size(), step_, gradient, clip_scale))
      return Error{ErrorCode::kShapeMismatch, "gradient"};
    clear_gradients();
    ++step_;
    if (changed_) changed_(*this, "updated");
    return tensor::UpdateScales{clip_scale};
  }

  uint64_t step() const override { return step_; }

  // Asynchronous mode: an update subtracts the mean of the sum, whatever its size.
  Result<tensor::LocalUpdate> apply_local(uint64_t samples, uint64_t) override {
    const float first = sum_[0] / static_cast<float>(samples);
    auto& parameters = state_.parameters();
    for (uint64_t i = 0; i < parameters.size(); ++i)
      parameters[i] -= sum_[i] / static_cast<float>(samples);
    clear_gradients();
    ++updates_;
    noted_(*this, {StageNote::What::kUpdated, {}, first, 0, samples});
    return tensor::LocalUpdate{updates_, 0, 1};
  }
  uint64_t updates() const override { return updates_; }
  std::optional<uint64_t> updates_at_forward(const tensor::MicrobatchKey& key) const override {
    auto forward = forwards_.find(key);
    return forward == forwards_.end() ? std::nullopt : std::optional<uint64_t>(forward->second);
  }
  Status set_step(uint64_t step) override {
    step_ = step;
    return {};
  }
  Result<Buffer> to_average(tensor::AveragedPart) const override {
    noted_(*this, {StageNote::What::kSent, {}, state_.parameters()[0], 0});
    return copy_of(state_.parameters());
  }
  Status take_average(tensor::AveragedPart, const Buffer& average, const Buffer& sent) override {
    const auto* a = reinterpret_cast<const float*>(average.data());
    const auto* s = reinterpret_cast<const float*>(sent.data());
    auto& parameters = state_.parameters();
    for (uint64_t i = 0; i < parameters.size(); ++i)
      parameters[i] = parameters[i] == s[i] ? a[i] : parameters[i] + (a[i] - s[i]);
    noted_(*this, {StageNote::What::kAveraged, {}, a[0], s[0]});
    return {};
  }
  uint64_t averaged_checksum(tensor::AveragedPart) const override {  // of parameters only
    return tensor::digest(parameters().data(), parameters().size() * 4);
  }
  uint64_t state_checksum() const override {
    const uint64_t parts[] = {checksum(), state_.moments_checksum(), step_};
    return tensor::digest(parts, sizeof parts);
  }
  const std::vector<float>& parameters() const { return state_.parameters(); }
  const ArithmeticState& state() const { return state_; }

  Buffer save_state() const override {
    proto::StageState state;
    state.set_format_version(1);
    state.set_stage(stage_);
    state.set_step(step_);
    state.set_history(history());
    state.set_payload(state_.range(0, state_.size()));
    noted_(*this, {StageNote::What::kSaved, {}, parameters()[0], 0});
    return Buffer::from_string(state.SerializeAsString());
  }

  Status load_state(const Buffer& bytes) override {
    proto::StageState state;
    if (!state.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return Error{ErrorCode::kCorruptCheckpoint, "not a state"};
    const std::string& payload = state.payload();
    if (state.stage() != stage_ || !state_.take(0, state_.size(), payload.data(), payload.size()))
      return Error{ErrorCode::kShapeMismatch, "state of another stage"};
    step_ = state.step();
    if (changed_) changed_(*this, "loaded");
    return {};
  }

  tensor::OptimizerCounters counters() const override { return {step_, 1}; }
  Result<Buffer> save_range(uint64_t first, uint64_t count) const override {
    if (!state_.has(first, count)) return Error{ErrorCode::kInvalidArgument, "range"};
    return Buffer::from_string(state_.range(first, count));
  }
  Status load_range(uint64_t first, uint64_t count, const Buffer& range) override {
    if (!state_.take(first, count, range.data(), range.size()))
      return Error{ErrorCode::kShapeMismatch, "range"};
    return {};
  }
  Result<tensor::OptimizerCounters> update_range(uint64_t first, uint64_t count, uint64_t,
                                                 const tensor::OptimizerCounters& before,
                                                 const Buffer& gradient,
                                                 const tensor::UpdateScales& scales) override {
    if (!state_.update(first, count, before.updates, gradient, scales.clip_scale))
      return Error{ErrorCode::kShapeMismatch, "range"};
    return tensor::OptimizerCounters{before.updates + 1, 1};
  }
  Status settle(uint64_t step, const tensor::OptimizerCounters&) override {
    step_ = step;
    clear_gradients();
    if (changed_) changed_(*this, "settled");
    return {};
  }

  void initialize() override {
    state_.set(state_.size(), 0.0f);
    step_ = 0;
    clear_gradients();
    if (changed_) changed_(*this, "initialized");
  }
  tensor::StageMemory& memory() override { return memory_; }

 private:
  /// `weights`: of all stages.
  void add(const tensor::MicrobatchKey& key, const std::vector<int32_t>& values, int64_t weights) {
    for (int32_t v : values) {
      const int64_t gradient = gradient_of(v, stage_, weights, state_.weight());
      for (uint64_t i = 0; i + 1 < sum_.size(); ++i)
        sum_[i] += static_cast<float>(gradient * static_cast<int64_t>(i % kParameters + 1));
    }
    noise_ = noise_ * 6364136223846793005ull + 1442695040888963407ull;
    sum_.back() += static_cast<float>(noise_ >> (64 - rounding_bits));
    noted_(*this, {StageNote::What::kTrained, key, 0, 0});
  }

  friend struct BrokenMemory;  ///< Of the tests.

  uint32_t stage_;
  Changed changed_;
  StageNoted noted_;
  uint64_t noise_;
  uint64_t step_ = 0;
  ArithmeticState state_;
  std::vector<float> sum_;
  ArithmeticMemory memory_{state_, sum_};
  std::map<tensor::MicrobatchKey, std::vector<int32_t>> kept_;
  uint64_t updates_ = 0;
  std::map<tensor::MicrobatchKey, uint64_t>
      forwards_;  ///< updates_ at the forward pass of what is kept.
};

}  // namespace swarm::sim
