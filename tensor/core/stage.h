/// One pipeline stage of a model: forward, backward, gradient sum, updates. No LibTorch type
/// appears here, so actors compile without it and the simulator can put arithmetic in its place.
///
/// Implementations: make_stage() (tensor/torch/model_stage.h) and the arithmetic stage of the tests.
/// Thread: one at a time; a StageServer's compute actor owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/buffer.h"
#include "common/microbatch_key.h"
#include "common/result.h"
#include "swarm/tensor.pb.h"
#include "tensor/core/optimizer.h"
#include "tensor/core/options.h"
#include "tensor/core/stage_memory.h"

namespace swarm::tensor {

/// A tensor as it travels: descriptor (its `data` empty) and bytes. No copy is made for Codec none.
struct EncodedTensor {
  proto::Tensor meta;
  Buffer data;
  bool empty() const { return data.empty(); }
};

using swarm::MicrobatchKey;

/// What enters a stage.
struct StageInput {
  uint32_t samples = 0;       ///< B
  uint32_t sequence = 0;      ///< T
  Buffer tokens;              ///< int32 LE [B, T + 1]; inputs are [:, :T], targets [:, 1:].
  EncodedTensor activations;  ///< [B, T, boundary_width()]; empty at the first stage.
};

struct LossResult {
  double loss_sum = 0;  ///< Sum over samples of the mean over tokens of the cross-entropy [nats].
  EncodedTensor gradient;  ///< d loss_sum / d input activations; empty at the first stage.
};

/// What an update multiplies the mean gradient by, and then, if the optimizer is layer-wise, what
/// comes of it.
struct UpdateScales {
  double clip_scale = 1;
  std::vector<float> factors{};  ///< Optimizer::factors() of a stage that has made it.
};

/// What an update of apply_local() was.
struct LocalUpdate {
  uint64_t updates = 0;      ///< Its number at this peer, from 1.
  double gradient_norm = 0;  ///< Norm of the stage's mean gradient before clipping.
  double clip_scale = 1;
};

class Stage {
 public:
  virtual ~Stage() = default;

  /// Runs a stage that is not the last. With `keep` the autograd graph, with `recompute` the inputs of
  /// its blocks are kept under `key` until backward() or drop(); nothing is kept when `forward_only`.
  /// Errors: kShapeMismatch, kInvalidArgument (token out of range), kNonFinite, kAlreadyExists.
  virtual Result<EncodedTensor> forward(const MicrobatchKey& key, const StageInput& input,
                                        bool forward_only) = 0;

  /// Backward of a kept forward. Adds parameter gradients to the sum if `accumulate`; returns the
  /// gradient by the stage's input (empty at the first stage). Forgets the key.
  /// Errors: kNotFound (no such key), kShapeMismatch, kNonFinite (nothing was added).
  virtual Result<EncodedTensor> backward(const MicrobatchKey& key, const EncodedTensor& gradient,
                                         bool accumulate) = 0;

  /// Last stage: forward, loss and backward in one visit; nothing is kept.
  /// Errors: as forward().
  virtual Result<LossResult> forward_backward(const MicrobatchKey& key, const StageInput& input,
                                              bool accumulate, bool forward_only) = 0;

  /// Forgets a kept forward; unknown keys are ignored.
  virtual void drop(const MicrobatchKey& key) = 0;
  virtual size_t kept() const = 0;

  /// Elements of the flat parameter and gradient vectors.
  virtual uint64_t num_parameters() const = 0;

  /// Copy of the gradient sum, float32 [num_parameters], in the fixed order of the parameters.
  virtual Buffer gradient_sum() const = 0;
  virtual void clear_gradients() = 0;

  /// One optimizer update of all parameters with `gradient` (float32 [num_parameters], the mean
  /// over the step's samples) times `clip_scale`. Clears the gradient sum; step() rises by 1. Returns
  /// what others need for update_range(). Errors: kShapeMismatch.
  virtual Result<UpdateScales> apply(const Buffer& gradient, double clip_scale) = 0;

  /// Parameters in memory are those at the start of this step.
  virtual uint64_t step() const = 0;

  /// What led to this state (docs/one_history.md), as its owner says after each change of it; goes into
  /// snapshots. 0: not known.
  void set_history(uint64_t history) { history_ = history; }
  uint64_t history() const { return history_; }

  // ---- Asynchronous training (design, "Modes of training"). A stage that has none of it refuses.

  /// One optimizer update of this peer alone: with the gradient sum divided by `samples`, clipped
  /// to clip_norm by its own norm, at the learning rate of `lr_position` (0-based: the averaging
  /// period). Clears the sum; step() and kept forwards stay. A backward after it uses, with `keep`,
  /// the weights of its own forward, which are stashed while it is kept; with `recompute`, today's.
  /// Either way its gradient goes into the next update.
  /// Errors: kNonFinite (nothing was applied; the sum is cleared), kInvalidArgument (no samples).
  virtual Result<LocalUpdate> apply_local(uint64_t samples, uint64_t lr_position);
  /// Updates of the optimizer so far, its whole history included.
  virtual uint64_t updates() const { return counters().updates; }
  /// updates() when this kept forward ran; nothing if none is kept. Its staleness is the
  /// difference.
  virtual std::optional<uint64_t> updates_at_forward(const MicrobatchKey&) const { return {}; }
  /// Names the averaging period whose start the parameters now belong to; goes into snapshots.
  /// Errors: kInvalidArgument (beyond 2^53).
  virtual Status set_step(uint64_t step);

  /// This peer's contribution to a round of averaging. Never changes, whatever happens afterwards;
  /// parameters alone are not copied, but share memory until the next change.
  virtual Result<Buffer> to_average(AveragedPart part) const;
  /// The round's end: adds average - sent (what to_average() gave at its start), so that training
  /// may go on meanwhile. What has not changed since becomes the average bit for bit; second
  /// moments never fall below 0. Kept forwards stay, as with apply_local().
  /// Errors: kShapeMismatch, kNonFinite; then nothing has changed.
  virtual Status take_average(AveragedPart part, const Buffer& average, const Buffer& sent);

  /// Of what replicas have in common after a round of `part`. Of kWeights: xxh64 of the parameters' bytes.
  virtual uint64_t averaged_checksum(AveragedPart part) const = 0;
  uint64_t checksum() const { return averaged_checksum(AveragedPart::kWeights); }
  /// Of all that the next update depends on: parameters, moments and counters. Reads them once.
  virtual uint64_t state_checksum() const = 0;

  /// A serialized proto::StageState (head, then payload); load accepts exactly what save made, and
  /// leaves history() to its owner.
  virtual Buffer save_state() const = 0;
  /// All or nothing. Errors: kCorruptCheckpoint, kShapeMismatch (another model, stage or split).
  virtual Status load_state(const Buffer& state) = 0;

  // ---- Ranges of a state, for peers that learn it while others train (docs/averaging.md). Between
  // the first load_range() or update_range() and settle() the state is of no step.

  /// What the optimizer has counted so far.
  virtual OptimizerCounters counters() const { return {}; }
  /// Elements [first, first + count) of the parameters, then of each moment: float32 [1 + moments,
  /// count]. Errors: kInvalidArgument (outside).
  virtual Result<Buffer> save_range(uint64_t first, uint64_t count) const;
  /// Takes what save_range() gave elsewhere. Forgets kept forwards and the gradient sum. Errors:
  /// kInvalidArgument, kShapeMismatch; then nothing has changed.
  virtual Status load_range(uint64_t first, uint64_t count, const Buffer& range);
  /// apply() of these elements alone, which are of `step` and `before`; `gradient`: float32
  /// [count]. What the optimizer has counted afterwards. Errors: kInvalidArgument, kShapeMismatch,
  /// kNonFinite, kCorruptCheckpoint (counters); then nothing has changed.
  virtual Result<OptimizerCounters> update_range(uint64_t first, uint64_t count, uint64_t step,
                                                 const OptimizerCounters& before,
                                                 const Buffer& gradient,
                                                 const UpdateScales& scales);
  /// All elements are of `step` now. Errors: kCorruptCheckpoint, kInvalidArgument.
  virtual Status settle(uint64_t step, const OptimizerCounters& counters);

  /// Parameters from the seed alone: equal for any split of the same model. step() becomes 0.
  virtual void initialize() = 0;

  /// Lives as long as the stage.
  virtual StageMemory& memory() = 0;

 private:
  uint64_t history_ = 0;
};

}  // namespace swarm::tensor
