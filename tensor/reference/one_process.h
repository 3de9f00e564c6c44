/// The one-process reference: the same model, unsplit, trained by plain LibTorch. What `swarm
/// verify` compares a swarm with, and the plain loop of `swarm bench overhead`.
///
/// Shares with the stages only the names and initial values of the parameters (tensor/core/layout.h)
/// and the data order; modules, autograd and AdamW are LibTorch's own, NAG and LAMB are written in
/// LibTorch's operations. Computes in float32, if not told otherwise, on the calling thread's LibTorch threads
/// (tensor/torch/threads.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/options.h"
#include "tensor/data/text_data.h"

namespace swarm::tensor {

/// Values by global parameter name (ParameterInfo::global_name), each row-major.
using NamedValues = std::map<std::string, std::vector<float>>;

struct SlotToLose {
  uint64_t step = 0;
  uint32_t slot = 0;
};

struct ReferenceOptions {
  ModelOptions model;  ///< With the boundaries of the stages that layers_per_stage names.
  OptimizerOptions optimizer;
  uint32_t batch = 0;       ///< Samples per step; a multiple of microbatch.
  uint32_t microbatch = 0;  ///< Samples per slot.
  uint64_t steps = 0;       ///< How many train_reference() trains.
  /// Slots that the step leaves out, of the gradient sum, the loss and the divisor, as a swarm
  /// does with what is not finite. By step.
  std::map<uint64_t, std::vector<uint32_t>> skipped;
  /// Step -> updates in the parameters that its gradient is of: its own number (also where missing)
  /// or one less (delayed updates). Updates are applied in the order of steps either way.
  std::map<uint64_t, uint64_t> computed_on;
  /// Leaves one slot out of the gradient sum and the loss, but not of the divisor: a comparison
  /// that cannot tell this run from a right one is worth nothing.
  std::optional<SlotToLose> lost_slot;
  /// Forward passes under LibTorch's autocast to bfloat16: as fast as a plain loop is with it, and no
  /// comparison for values, because stages round elsewhere.
  bool autocast = false;
};

struct ReferenceRun {
  std::vector<double> losses;          ///< Mean per sample and token of each step [nats].
  std::vector<double> gradient_norms;  ///< Before clipping.
  NamedValues parameters;              ///< After the last step.
  double tokens_per_s = 0;  ///< Over all steps but the first, if there are more than one.
};

/// The whole state of a training between two steps.
struct ReferenceState {
  uint64_t step = 0;            ///< The parameters are those at its start.
  uint64_t updates = 0;         ///< Of the optimizer, so far.
  double momentum_product = 1;  ///< P of NAG.
  NamedValues parameters;
  std::vector<NamedValues> moments;  ///< In the order of OptimizerInfo::moments.
};

/// From the snapshots (Stage::save_state()) of all stages in their order, at one step.
/// Errors: kCorruptCheckpoint, kShapeMismatch (another model or split, or different steps).
Result<ReferenceState> reference_state(const ModelOptions& model,
                                       const std::vector<Buffer>& stages);

/// Trains from any state to any later step. One owner; keeps references to nothing but `data`,
/// which outlives it. Slot k of step e reads the training samples
/// e * batch + k * microbatch + [0, microbatch).
class ReferenceTrainer {
 public:
  /// At step 0 with the initial weights. Errors: kInvalidArgument, kInternal (LibTorch threw).
  static Result<std::unique_ptr<ReferenceTrainer>> make(const ReferenceOptions& options,
                                                        const TextData& data);
  virtual ~ReferenceTrainer() = default;

  /// Goes on from `state`, whose values are of exactly the model's parameters. The parameters of
  /// one update earlier, for a delayed first step, stay those that were trained here. Errors:
  /// kShapeMismatch (nothing has changed), kInternal.
  virtual Status restore(const ReferenceState& state) = 0;
  /// Trains the steps from step() to `end`. Requires end >= step().
  /// Errors: kNonFinite, kInvalidArgument (a step whose slots are all skipped, or computed on
  /// parameters that are not at hand), kInternal.
  virtual Result<ReferenceRun> train_until(uint64_t end) = 0;
  virtual uint64_t step() const = 0;
  /// A copy; moments that no update has touched are zeros.
  virtual ReferenceState state() const = 0;
};

/// options.steps steps from the initial weights. Errors: as of ReferenceTrainer.
Result<ReferenceRun> train_reference(const ReferenceOptions& options, const TextData& data);

struct ReferenceGradient {
  double loss_sum = 0;  ///< As LossResult::loss_sum.
  NamedValues gradients;
};
/// One microbatch through the initial parameters. `tokens` is int32 [samples, sequence + 1].
Result<ReferenceGradient> reference_gradient(const ModelOptions& model, const Buffer& tokens,
                                             uint32_t samples, uint32_t sequence);

}  // namespace swarm::tensor
