/// A stage's parameters in training: their versions, the gradient sum, the optimizer and the step.
/// What Stage says of updates, averages and snapshots is done here. LibTorch; included by .cc files
/// of tensor/ only. Throws what LibTorch throws, unless a Result says otherwise.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "swarm/state.pb.h"
#include "tensor/core/layout.h"
#include "tensor/core/optimizer.h"
#include "tensor/core/options.h"
#include "tensor/core/stage.h"
#include "tensor/torch/parameter_versions.h"

namespace swarm::tensor {

/// Of a checksum; each what the one before does, and more.
enum class Covers : uint8_t { kValues, kMoments, kCounters };

class TrainedParameters {
 public:
  /// Values are undefined until initialize(). `forget_kept` is called before the parameters become
  /// others that no kept forward belongs to; it lets go of the versions that these hold.
  TrainedParameters(const StageOptions& options, torch::Device device,
                    std::function<void()> forget_kept);

  const std::vector<ParameterInfo>& layout() const { return layout_; }
  uint64_t size() const { return size_; }
  const ParameterVersions& versions() const { return versions_; }
  /// The current version's weights to compute with, in the order of the layout.
  const std::vector<torch::Tensor>& weights() const {
    return versions_.weights(versions_.current());
  }
  Buffer values() const { return copy(versions_.values()); }  ///< A copy, float32 [size()].
  uint64_t checksum(Covers covers) const;
  uint64_t step() const { return step_; }

  /// Adds one gradient for each parameter, in the order of the layout, to the sum. More may follow
  /// behind them in `found`; they are not looked at.
  void add_gradients(const std::vector<torch::Tensor>& found);
  Buffer gradient_sum() const;
  void clear_gradients() { gradients_.zero_(); }

  Result<UpdateScales> apply(const Buffer& gradient, double clip_scale);
  Result<LocalUpdate> apply_local(uint64_t samples, uint64_t lr_position);
  Status set_step(uint64_t step);
  Result<Buffer> to_average(AveragedPart part) const;
  Status take_average(AveragedPart part, const Buffer& average, const Buffer& sent);
  Buffer save_state(uint64_t history) const;
  Status load_state(const Buffer& state);
  const OptimizerCounters& counters() const { return optimizer_->counters(); }
  Result<Buffer> save_range(uint64_t first, uint64_t count) const;
  Status load_range(uint64_t first, uint64_t count, const Buffer& range);
  Result<OptimizerCounters> update_range(uint64_t first, uint64_t count, uint64_t step,
                                         const OptimizerCounters& before, const Buffer& gradient,
                                         const UpdateScales& scales);
  Status settle(uint64_t step, const OptimizerCounters& counters);
  void initialize();

 private:
  friend class HeldMemory;

  Buffer copy(const float* from) const;
  uint64_t moments_size() const { return optimizer_->moments_bytes() / sizeof(float); }
  void update(const float* gradient, uint64_t lr_position, double clip_scale);
  void add_to_moments(const float* average, const float* sent);
  Status check_head(const proto::StageState& head) const;
  void forget();
  /// `write` changes some elements; those that it leaves alone stay as they are.
  void change_some(const std::function<void(float* values)>& write);

  const StageOptions options_;
  const std::vector<ParameterInfo> layout_;
  const uint64_t size_;
  const std::function<void()> forget_kept_;
  ParameterVersions versions_;
  const std::unique_ptr<Optimizer> optimizer_;
  torch::Tensor gradients_;  // [size_], on the device
  uint64_t step_ = 0;
  bool in_ranges_ = false;  ///< Not all elements are of step_, until settle().
};

}  // namespace swarm::tensor
