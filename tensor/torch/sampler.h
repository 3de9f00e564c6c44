/// Text from a trained model whose stages are all in this process. No LibTorch type.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/torch/model_stage.h"

namespace swarm::tensor {

struct SampleOptions {
  std::string prompt = "\n";  ///< Not empty. Only its last model.sequence bytes are read.
  uint32_t count = 256;       ///< Bytes to generate.
  double temperature = 0.8;   ///< 0: always the likeliest byte.
  uint32_t top_k = 0;         ///< Choose among the k likeliest; 0: among all.
  uint64_t seed = 1;
};

/// All stages of one model, first to last.
using Stages = std::vector<std::unique_ptr<ModelStage>>;

/// Stages from their snapshots (StageState bytes, in order of stage). All must be of one step and
/// one configuration. Errors: kCorruptCheckpoint, kShapeMismatch, kInvalidArgument.
Result<Stages> load_stages(const ModelOptions& model, const std::vector<Buffer>& states);

/// Generates options.count bytes behind the prompt; `on_byte` (may be empty) sees each at once.
/// The same arguments give the same text. Errors: kInvalidArgument, and those of Stage::forward().
Result<std::string> sample_text(const Stages& stages, int32_t sequence,
                                const SampleOptions& options,
                                const std::function<void(char)>& on_byte = {});

/// Index of the next token. `random` in [0, 1) decides. Pure.
uint32_t choose_token(const std::vector<float>& logits, double temperature, uint32_t top_k,
                      double random);

}  // namespace swarm::tensor
