#include "tensor/torch/model_stage.h"

#include <torch/torch.h>

#include <utility>

#include "tensor/torch/bytes.h"
#include "tensor/torch/device.h"
#include "tensor/torch/held_memory.h"
#include "tensor/torch/passes.h"
#include "tensor/torch/trained_parameters.h"

namespace swarm::tensor {
namespace {

/// Passes and parameters as one Stage; decides nothing itself.
class TorchStage final : public ModelStage {
 public:
  explicit TorchStage(const StageOptions& options)
      : parameters_(options, torch_device(options.device), [this] { passes_.drop_all(); }),
        passes_(options, torch_device(options.device), parameters_) {
    parameters_.initialize();
  }

  Result<EncodedTensor> forward(const MicrobatchKey& key, const StageInput& input,
                                bool forward_only) override {
    return guarded<EncodedTensor>([&] { return passes_.forward(key, input, forward_only); });
  }
  Result<EncodedTensor> backward(const MicrobatchKey& key, const EncodedTensor& gradient,
                                 bool accumulate) override {
    return guarded<EncodedTensor>([&] { return passes_.backward(key, gradient, accumulate); });
  }
  Result<LossResult> forward_backward(const MicrobatchKey&, const StageInput& input,
                                      bool accumulate, bool forward_only) override {
    return guarded<LossResult>([&] { return passes_.loss(input, accumulate, forward_only); });
  }
  Result<Buffer> next_logits(const StageInput& input) override {
    return guarded<Buffer>([&] { return passes_.next_logits(input); });
  }
  void drop(const MicrobatchKey& key) override { passes_.drop(key); }
  size_t kept() const override { return passes_.kept(); }
  size_t versions() const override { return passes_.versions(); }
  std::optional<uint64_t> updates_at_forward(const MicrobatchKey& key) const override {
    return passes_.updates_at_forward(key);
  }

  uint64_t num_parameters() const override { return parameters_.size(); }
  const std::vector<ParameterInfo>& layout() const override { return parameters_.layout(); }
  Buffer parameters() const override { return parameters_.values(); }
  uint64_t averaged_checksum(AveragedPart part) const override {
    return parameters_.checksum(part == AveragedPart::kWeights ? Covers::kValues
                                                               : Covers::kMoments);
  }
  uint64_t state_checksum() const override { return parameters_.checksum(Covers::kCounters); }
  uint64_t step() const override { return parameters_.step(); }
  Buffer gradient_sum() const override { return parameters_.gradient_sum(); }
  void clear_gradients() override { parameters_.clear_gradients(); }
  Result<UpdateScales> apply(const Buffer& gradient, double clip_scale) override {
    return parameters_.apply(gradient, clip_scale);
  }
  Result<LocalUpdate> apply_local(uint64_t samples, uint64_t lr_position) override {
    return parameters_.apply_local(samples, lr_position);
  }
  Status set_step(uint64_t step) override { return parameters_.set_step(step); }
  Result<Buffer> to_average(AveragedPart part) const override {
    return parameters_.to_average(part);
  }
  Status take_average(AveragedPart part, const Buffer& average, const Buffer& sent) override {
    return parameters_.take_average(part, average, sent);
  }
  Buffer save_state() const override { return parameters_.save_state(history()); }
  Status load_state(const Buffer& state) override { return parameters_.load_state(state); }
  OptimizerCounters counters() const override { return parameters_.counters(); }
  Result<Buffer> save_range(uint64_t first, uint64_t count) const override {
    return parameters_.save_range(first, count);
  }
  Status load_range(uint64_t first, uint64_t count, const Buffer& range) override {
    return parameters_.load_range(first, count, range);
  }
  Result<OptimizerCounters> update_range(uint64_t first, uint64_t count, uint64_t step,
                                         const OptimizerCounters& before, const Buffer& gradient,
                                         const UpdateScales& scales) override {
    return parameters_.update_range(first, count, step, before, gradient, scales);
  }
  Status settle(uint64_t step, const OptimizerCounters& counters) override {
    return parameters_.settle(step, counters);
  }
  void initialize() override { parameters_.initialize(); }
  StageMemory& memory() override { return memory_; }

 private:
  TrainedParameters parameters_;
  HeldMemory memory_{parameters_};
  Passes passes_;
};

}  // namespace

Result<std::unique_ptr<ModelStage>> open_stage(const StageOptions& options) {
  if (Status status = options.validate(); !status) return status.error();
  if (Status status = check_device(options.device); !status) return status.error();
  return guarded<std::unique_ptr<ModelStage>>(
      [&] { return std::unique_ptr<ModelStage>(std::make_unique<TorchStage>(options)); });
}

Result<std::unique_ptr<Stage>> make_stage(const StageOptions& options) {
  auto stage = open_stage(options);
  if (!stage) return stage.error();
  return std::unique_ptr<Stage>(std::move(*stage));
}

}  // namespace swarm::tensor
