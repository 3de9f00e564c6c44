/// One pipeline stage of a model: forward, backward, gradient sum, optimizer. No LibTorch type
/// appears here, so actors compile without it and the simulator can put arithmetic in its place.
///
/// Implementations: make_gpt_stage() (tensor/gpt_stage.h) and the arithmetic stage of the tests.
/// Thread: one at a time; a StageServer's compute actor owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "swarm/tensor.pb.h"

namespace swarm::tensor {

/// A tensor as it travels: descriptor (its `data` empty) and bytes. No copy is made for Codec none.
struct EncodedTensor {
  proto::Tensor meta;
  Buffer data;
  bool empty() const { return data.empty(); }
};

/// Names one attempt of one microbatch between its forward and its backward.
struct MicrobatchKey {
  uint64_t step = 0;
  uint32_t slot = 0;
  uint32_t attempt = 0;
  friend bool operator<(const MicrobatchKey& a, const MicrobatchKey& b) {
    return std::tie(a.step, a.slot, a.attempt) < std::tie(b.step, b.slot, b.attempt);
  }
};

/// What enters a stage.
struct StageInput {
  uint32_t samples = 0;       ///< B
  uint32_t sequence = 0;      ///< T
  Buffer tokens;              ///< int32 LE [B, T + 1]; inputs are [:, :T], targets [:, 1:].
  EncodedTensor activations;  ///< [B, T, D]; empty at the first stage.
};

struct LossResult {
  double loss_sum = 0;  ///< Sum over samples of the mean over tokens of the cross-entropy [nats].
  EncodedTensor gradient;  ///< Of loss_sum by the input activations; empty at the first stage.
};

class Stage {
 public:
  virtual ~Stage() = default;

  /// Runs a stage that is not the last. With `keep` the autograd graph, with `recompute` the input
  /// is kept under `key` until backward() or drop(); nothing is kept when `forward_only`.
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
  /// over the step's samples) times `clip_scale`. Clears the gradient sum; step() rises by 1.
  /// Errors: kShapeMismatch.
  virtual Status apply(const Buffer& gradient, double clip_scale) = 0;

  /// Parameters in memory are those at the start of this step.
  virtual uint64_t step() const = 0;

  /// xxh64 of the parameters' bytes.
  virtual uint64_t checksum() const = 0;

  /// A serialized proto::StageState (head, then payload); load accepts exactly what save made.
  virtual Buffer save_state() const = 0;
  /// All or nothing. Errors: kCorruptCheckpoint, kShapeMismatch (another model, stage or split).
  virtual Status load_state(const Buffer& state) = 0;

  /// Parameters from the seed alone: equal for any split of the same model. step() becomes 0.
  virtual void initialize() = 0;
};

}  // namespace swarm::tensor
