/// The one-process reference: the same model, unsplit, trained by plain LibTorch. What `swarm
/// verify` compares a swarm with, and the plain loop of `swarm bench overhead`.
///
/// Shares with the stages only the names and initial values of the parameters (gpt_layout.h) and
/// the data order; modules, autograd and optimizer are LibTorch's own. Computes in float32 on the
/// calling thread's LibTorch threads (tensor/threads.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/options.h"
#include "tensor/text_data.h"

namespace swarm::tensor {

/// Values by global parameter name (ParameterInfo::global_name), each row-major.
using NamedValues = std::map<std::string, std::vector<float>>;

struct SlotToSkip {
  uint64_t step = 0;
  uint32_t slot = 0;
};

struct ReferenceOptions {
  ModelOptions model;
  OptimizerOptions optimizer;
  uint32_t batch = 0;       ///< Samples per step; a multiple of microbatch.
  uint32_t microbatch = 0;  ///< Samples per slot.
  uint64_t steps = 0;
  /// Leaves one slot out of the gradient sum and the loss (the divisor stays): a comparison that
  /// cannot tell this run from a right one is worth nothing.
  std::optional<SlotToSkip> skip_slot;
};

struct ReferenceRun {
  std::vector<double> losses;          ///< Mean per sample and token of each step [nats].
  std::vector<double> gradient_norms;  ///< Before clipping.
  NamedValues parameters;              ///< After the last step.
  double tokens_per_s = 0;             ///< Of the whole loop; of all steps but the first if > 1.
};

/// Slot k of step e reads the training samples e * batch + k * microbatch + [0, microbatch).
/// Errors: kInvalidArgument, kNonFinite, kInternal (LibTorch threw).
Result<ReferenceRun> train_reference(const ReferenceOptions& options, const TextData& data);

struct ReferenceGradient {
  double loss_sum = 0;  ///< As LossResult::loss_sum.
  NamedValues gradients;
};
/// One microbatch through the initial parameters. `tokens` is int32 [samples, sequence + 1].
Result<ReferenceGradient> reference_gradient(const ModelOptions& model, const Buffer& tokens,
                                             uint32_t samples, uint32_t sequence);

}  // namespace swarm::tensor
