/// Stages in LibTorch of whatever model options.model.kind names: what StageServers compute with.
///
/// A stage uses the calling thread's LibTorch threads (tensor/torch/threads.h), no global random
/// state, and leaves no gradient mode behind. Passes run on options.device and the gradient sum lies
/// there; parameters and optimizer stay in the machine's memory (a change of them costs a GPU one
/// copy of the weights), and so does all that comes and goes.
///
/// Beyond tensor/core/stage.h:
///  - kInvalidArgument also for sequence > model.sequence and batches whose largest intermediate
///    tensor would pass kMaxTensorBytes; kInternal if LibTorch throws (e.g. out of memory);
///  - a key whose gradient is refused with kShapeMismatch stays kept;
///  - weights are stashed as tensor/torch/parameter_versions.h says: versions() counts them;
///  - apply(), load_state() and initialize() forget all kept forwards: they belong to other
///    parameters. apply() refuses a non-finite gradient (kNonFinite) or scale (kInvalidArgument);
///  - the middle stages do not read `tokens`.
#pragma once

#include <memory>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/layout.h"
#include "tensor/core/options.h"
#include "tensor/core/stage.h"

namespace swarm::tensor {

class ModelStage : public Stage {
 public:
  /// Order and names of the flat vectors' parts.
  virtual const std::vector<ParameterInfo>& layout() const = 0;

  /// Copy of the parameters, float32 [num_parameters].
  virtual Buffer parameters() const = 0;

  /// Versions of the parameters that kept forwards compute with, and the current one.
  virtual size_t versions() const = 0;

  /// Last stage: logits of the token after each sample's last one, float32 [B, V]. Of
  /// input.tokens only inputs count (targets may be any valid token). Errors: as forward().
  virtual Result<Buffer> next_logits(const StageInput& input) = 0;
};

/// A stage with its initial parameters. Errors: kInvalidArgument with the first broken rule.
Result<std::unique_ptr<ModelStage>> open_stage(const StageOptions& options);

/// The same as a Stage, for whoever needs no more.
Result<std::unique_ptr<Stage>> make_stage(const StageOptions& options);

}  // namespace swarm::tensor
