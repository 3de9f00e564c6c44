/// Forward and backward of one stage, and what is kept of a microbatch between the two. LibTorch;
/// included by .cc files of tensor/ only. Throws what LibTorch throws.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "common/result.h"
#include "tensor/core/options.h"
#include "tensor/core/stage.h"
#include "tensor/torch/block_pass.h"
#include "tensor/torch/model.h"
#include "tensor/torch/stage_input.h"
#include "tensor/torch/trained_parameters.h"

namespace swarm::tensor {

class Passes {
 public:
  /// Computes with `parameters`, which outlive it and take its gradients.
  Passes(const StageOptions& options, torch::Device device, TrainedParameters& parameters);

  /// As the Stage functions of these names; loss() is forward_backward().
  Result<EncodedTensor> forward(const MicrobatchKey& key, const StageInput& input,
                                bool forward_only);
  Result<EncodedTensor> backward(const MicrobatchKey& key, const EncodedTensor& gradient,
                                 bool accumulate);
  Result<LossResult> loss(const StageInput& input, bool accumulate, bool forward_only);
  Result<Buffer> next_logits(const StageInput& input);

  void drop(const MicrobatchKey& key) { kept_.erase(key); }
  void drop_all() { kept_.clear(); }
  size_t kept() const { return kept_.size(); }
  std::optional<uint64_t> updates_at_forward(const MicrobatchKey& key) const;
  /// Versions of the parameters that kept forwards compute with, and the current one.
  size_t versions() const;

 private:
  /// What waits for its gradient.
  struct Kept {
    ParameterVersions::Held version;  // keep: the weights of the graph
    uint64_t updates = 0;             // of the optimizer before the forward
    uint64_t changes = 0;             // of the parameters before the forward
    StageInput input;                 // recompute
    BlockPass pass;                   // keep: with its graph
    int64_t batch = 0, sequence = 0;
  };

  bool keeps() const { return options_.backward == BackwardPolicy::kKeep; }
  Result<torch::Tensor> pull(Kept& kept, const torch::Tensor& seed, WeightGradients* sums);
  Status add(const WeightGradients* sums, const torch::Tensor& by_input);
  Result<LossResult> trained(const CheckedInput& input, bool accumulate);
  EncodedTensor encode_rows(const torch::Tensor& rows, int64_t batch, int64_t sequence,
                            Codec codec) const;

  const StageOptions options_;
  const StagePart part_;
  const torch::Device device_;
  TrainedParameters& parameters_;
  const std::unique_ptr<Model> model_;
  std::map<MicrobatchKey, Kept> kept_;
};

}  // namespace swarm::tensor
