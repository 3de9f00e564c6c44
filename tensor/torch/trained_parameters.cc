#include "tensor/torch/trained_parameters.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "common/check.h"
#include "tensor/core/architecture.h"
#include "tensor/core/flat.h"
#include "tensor/core/state_format.h"
#include "tensor/torch/bytes.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;

void run_parallel(size_t n, const ParallelBody& body) {
  at::parallel_for(0, static_cast<int64_t>(n), 1 << 16, [&](int64_t from, int64_t to) {
    body(static_cast<size_t>(from), static_cast<size_t>(to));
  });
}

const float* floats(const Buffer& buffer) { return reinterpret_cast<const float*>(buffer.data()); }

Status check_size(const char* what, const Buffer& buffer, uint64_t n) {
  if (buffer.size() == n * sizeof(float)) return {};
  return mismatch(
      fmt::format("{}: expected {} bytes (got {})", what, n * sizeof(float), buffer.size()));
}

Status check_range(uint64_t first, uint64_t count, uint64_t n) {
  if (count > 0 && first < n && count <= n - first) return {};
  return invalid(fmt::format("range: {} elements from {} on, of {}", count, first, n));
}

}  // namespace

TrainedParameters::TrainedParameters(const StageOptions& options, torch::Device device,
                                     std::function<void()> forget_kept)
    : options_(options),
      layout_(model_layout(options.model, options.stage, options.num_stages)),
      size_(layout_size(layout_)),
      forget_kept_(std::move(forget_kept)),
      versions_(layout_, options.compute, device),
      optimizer_(make_optimizer(options.optimizer, layout_, run_parallel)),
      gradients_(torch::zeros({static_cast<int64_t>(size_)}, device)) {}

Buffer TrainedParameters::copy(const float* from) const {
  MutableBuffer out = MutableBuffer::allocate(size_ * sizeof(float));
  std::memcpy(out.data(), from, size_ * sizeof(float));
  return out.freeze();
}

uint64_t TrainedParameters::checksum(Covers covers) const {
  const uint64_t bytes = size_ * sizeof(float);
  if (covers == Covers::kValues) return digest(versions_.values(), bytes);
  const bool all = covers == Covers::kCounters;
  return state_checksum(versions_.values(), bytes, optimizer_->moments(),
                        optimizer_->moments_bytes(), all ? counters() : OptimizerCounters());
}

// ---- gradients

void TrainedParameters::add_gradients(const std::vector<Tensor>& found) {
  for (size_t i = 0; i < layout_.size(); ++i) {
    const ParameterInfo& info = layout_[i];
    const auto size = static_cast<int64_t>(info.size);
    Tensor sum = gradients_.narrow(0, static_cast<int64_t>(info.offset), size).view(info.shape);
    sum.add_(found[i]);
  }
}

Buffer TrainedParameters::gradient_sum() const {
  return copy(gradients_.to(torch::kCPU).data_ptr<float>());
}

// ---- updates

void TrainedParameters::update(const float* gradient, uint64_t lr_position, double clip_scale) {
  versions_.change([&](const float* from, float* to) {
    optimizer_->step(gradient, lr_position, clip_scale, from, to);
  });
}

void TrainedParameters::forget() {
  forget_kept_();
  clear_gradients();
}

Result<UpdateScales> TrainedParameters::apply(const Buffer& gradient, double clip_scale) {
  if (Status status = check_size("gradient", gradient, size_); !status) return status.error();
  if (!std::isfinite(clip_scale) || clip_scale < 0) return invalid("clip_scale: must be >= 0");
  const Buffer aligned = aligned_floats(gradient);
  const float* g = floats(aligned);
  if (!all_finite(g, size_)) return non_finite("gradient: not finite; nothing was applied");
  forget();  // also lets go of the weights, so that they change in place
  update(g, step_, clip_scale);
  ++step_;
  return UpdateScales{clip_scale, optimizer_->factors()};
}

Result<LocalUpdate> TrainedParameters::apply_local(uint64_t samples, uint64_t lr_position) {
  if (samples == 0) return invalid("apply_local: there are no samples to divide by");
  return guarded<LocalUpdate>([&]() -> Result<LocalUpdate> {
    // The mean and its norm exactly as a round of averaging among one peer makes them.
    Tensor sum = gradients_.to(torch::kCPU);  // in place if it is there already
    auto* g = sum.data_ptr<float>();
    scale(g, size_, static_cast<float>(1.0 / static_cast<double>(samples)));
    LocalUpdate done;
    done.gradient_norm = std::sqrt(squared_norm(g, size_));
    if (!std::isfinite(done.gradient_norm)) {
      clear_gradients();
      return non_finite("gradient sum: not finite; nothing was applied");
    }
    done.clip_scale = clip_scale(options_.optimizer, done.gradient_norm);
    update(g, lr_position, done.clip_scale);
    clear_gradients();
    done.updates = counters().updates;
    return done;
  });
}

Status TrainedParameters::set_step(uint64_t step) {
  if (step > kMaxStep) return invalid(fmt::format("step: {} is too large", step));
  step_ = step;
  return {};
}

// ---- averages

Result<Buffer> TrainedParameters::to_average(AveragedPart part) const {
  if (part == AveragedPart::kWeights) return versions_.share();
  return guarded<Buffer>([&] {
    const uint64_t bytes = size_ * sizeof(float);
    MutableBuffer out = MutableBuffer::allocate(bytes + optimizer_->moments_bytes());
    std::memcpy(out.data(), versions_.values(), bytes);
    std::memcpy(out.data() + bytes, optimizer_->moments(), optimizer_->moments_bytes());
    return out.freeze();
  });
}

Status TrainedParameters::take_average(AveragedPart part, const Buffer& average,
                                       const Buffer& sent) {
  const uint64_t n = size_ + (part == AveragedPart::kWeights ? 0 : moments_size());
  for (const Buffer* buffer : {&average, &sent})
    if (Status status = check_size("average", *buffer, n); !status) return status;
  auto taken = guarded<bool>([&]() -> Result<bool> {
    const Buffer mean = aligned_floats(average), old = aligned_floats(sent);
    const float *a = floats(mean), *s = floats(old);
    if (!all_finite(a, n) || !all_finite(s, n))
      return non_finite("average: not finite; nothing was taken");
    versions_.change([&](const float* from, float* to) { add_difference(from, a, s, to, size_); });
    if (part == AveragedPart::kWeightsAndMoments) add_to_moments(a + size_, s + size_);
    return true;
  });
  return taken ? Status() : Status(taken.error());
}

void TrainedParameters::add_to_moments(const float* average, const float* sent) {
  float* moments = optimizer_->moments();
  add_difference(moments, average, sent, moments, moments_size());
  for (const MomentInfo& moment : optimizer_info(optimizer_->kind()).moments) {
    if (moment.never_negative)
      for (uint64_t i = 0; i < size_; ++i) moments[i] = std::max(moments[i], 0.0f);
    moments += size_;
  }
}

// ---- snapshots

Buffer TrainedParameters::save_state(uint64_t history) const {
  proto::StageState head;
  head.set_stage(static_cast<uint32_t>(options_.stage));
  head.set_num_stages(static_cast<uint32_t>(options_.num_stages));
  head.set_step(step_);
  head.set_config_fingerprint(options_.config_fingerprint);
  head.set_num_parameters(size_);
  head.set_history(history);
  put_optimizer(optimizer_->kind(), optimizer_->counters(), head);
  return serialize_state(head, {{versions_.values(), size_ * sizeof(float)},
                                {optimizer_->moments(), optimizer_->moments_bytes()}});
}

Status TrainedParameters::check_head(const proto::StageState& head) const {
  const std::string& theirs = head.config_fingerprint();
  const bool older = !theirs.empty() && theirs == options_.older_fingerprint;
  if (theirs != options_.config_fingerprint && !older) {
    return mismatch("state: belongs to another configuration (fingerprint differs)");
  }
  if (head.stage() != static_cast<uint32_t>(options_.stage) ||
      head.num_stages() != static_cast<uint32_t>(options_.num_stages)) {
    return mismatch(fmt::format("state: is of stage {} of {}, expected {} of {}", head.stage(),
                                head.num_stages(), options_.stage, options_.num_stages));
  }
  if (head.num_parameters() != size_) {
    return mismatch(
        fmt::format("state: has {} parameters, the model has {}", head.num_parameters(), size_));
  }
  if (optimizer_kind(head) != optimizer_->kind()) {
    return mismatch(fmt::format("state: is of optimizer {}, expected {}",
                                to_string(optimizer_kind(head)), to_string(optimizer_->kind())));
  }
  return {};
}

Status TrainedParameters::load_state(const Buffer& state) {
  auto view = parse_state(state);
  if (!view) return view.error();
  if (Status status = check_head(view->head); !status) return status;
  const uint8_t* values = view->payload.data();
  const uint64_t bytes = size_ * sizeof(float);
  if (Status status = optimizer_->restore(optimizer_counters(view->head), values + bytes); !status)
    return status;
  forget();
  versions_.change([&](const float*, float* to) { std::memcpy(to, values, bytes); });
  step_ = view->head.step();
  in_ranges_ = false;
  return {};
}

// ---- ranges

void TrainedParameters::change_some(const std::function<void(float* values)>& write) {
  if (!in_ranges_) forget();
  in_ranges_ = true;
  versions_.change([&](const float* from, float* to) {
    if (to != from) std::memcpy(to, from, size_ * sizeof(float));
    write(to);
  });
}

Result<Buffer> TrainedParameters::save_range(uint64_t first, uint64_t count) const {
  if (Status status = check_range(first, count, size_); !status) return status.error();
  const uint64_t vectors = 1 + moments_size() / size_, bytes = count * sizeof(float);
  MutableBuffer out = MutableBuffer::allocate(vectors * bytes);
  std::memcpy(out.data(), versions_.values() + first, bytes);
  for (uint64_t i = 1; i < vectors; ++i)
    std::memcpy(out.data() + i * bytes, optimizer_->moments() + (i - 1) * size_ + first, bytes);
  return out.freeze();
}

Status TrainedParameters::load_range(uint64_t first, uint64_t count, const Buffer& range) {
  if (Status status = check_range(first, count, size_); !status) return status;
  const uint64_t vectors = 1 + moments_size() / size_, bytes = count * sizeof(float);
  if (Status status = check_size("range", range, vectors * count); !status) return status;
  change_some([&](float* values) { std::memcpy(values + first, range.data(), bytes); });
  for (uint64_t i = 1; i < vectors; ++i)
    std::memcpy(optimizer_->moments() + (i - 1) * size_ + first, range.data() + i * bytes, bytes);
  return {};
}

Result<OptimizerCounters> TrainedParameters::update_range(uint64_t first, uint64_t count,
                                                          uint64_t step,
                                                          const OptimizerCounters& before,
                                                          const Buffer& gradient,
                                                          const UpdateScales& scales) {
  if (Status status = check_range(first, count, size_); !status) return status.error();
  if (Status status = check_size("gradient", gradient, count); !status) return status.error();
  if (!std::isfinite(scales.clip_scale) || scales.clip_scale < 0)
    return invalid("clip_scale: must be >= 0");
  if (Status status = check_counters(optimizer_->kind(), before); !status) return status.error();
  if (Status status = optimizer_->check_factors(scales.factors); !status) return status.error();
  const Buffer aligned = aligned_floats(gradient);
  if (!all_finite(floats(aligned), count)) return non_finite("gradient: not finite");
  change_some([&](float* values) {
    const Status done = optimizer_->step_range(first, count, before, scales.factors,
                                               floats(aligned), step, scales.clip_scale, values);
    SWARM_CHECK(done.ok());  // the factors have been checked
  });
  return optimizer_->counters();
}

Status TrainedParameters::settle(uint64_t step, const OptimizerCounters& counters) {
  if (Status status = check_counters(optimizer_->kind(), counters); !status) return status;
  if (Status status = set_step(step); !status) return status;
  if (Status status = optimizer_->set_counters(counters); !status) return status;
  in_ranges_ = false;
  return {};
}

void TrainedParameters::initialize() {
  in_ranges_ = false;
  forget();
  versions_.change([&](const float*, float* to) {
    for (const ParameterInfo& info : layout_) {
      initial_values(options_.model.seed, info, to + info.offset);
    }
  });
  optimizer_->reset();
  step_ = 0;
}

}  // namespace swarm::tensor
