/// What can be known of a model without computing with it. No LibTorch; the part that computes
/// is tensor/torch/model.h.
///
/// A new architecture is a folder of its own with this and a ModelCode, a row in tensor/models.cc and
/// a row in tensor/torch/models.cc, each in the place that its ModelKind names.
///
/// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "tensor/core/layout.h"
#include "tensor/core/options.h"

namespace swarm::tensor {

/// The part of a model that a stage has.
struct StagePart {
  bool first = false;  ///< It begins with tokens.
  bool last = false;   ///< It ends with logits.
  LayerRange layers;
  int32_t stage = 0;  ///< Boundary i lies between stages i and i + 1.
};
/// Requires valid arguments, as stage_layers().
StagePart stage_part(const ModelOptions& model, int32_t stage, int32_t num_stages);

struct Architecture {
  const char* name;  ///< model.kind
  /// The rules that only this model has, beyond the ranges of single keys. Each text begins with the
  /// key that breaks it. A model that knows no boundaries or no repeats refuses them here.
  std::vector<Error> (*check)(const ModelOptions& model);
  /// Elements per token of the largest tensor of a pass over `sequence` tokens.
  uint64_t (*widest)(const ModelOptions& model, uint64_t sequence);
  std::vector<ParameterInfo> (*layout)(const ModelOptions& model, const StagePart& part);
};

/// Requires a kind that is a row of the table.
const Architecture& architecture(ModelKind kind);

/// Parameters of one stage. Requires valid arguments, as stage_layers().
std::vector<ParameterInfo> model_layout(const ModelOptions& model, int32_t stage,
                                        int32_t num_stages);
/// Parameters of all stages, one behind the other, that model.layers_per_stage names: with_split()
/// fills it in. Empty: of the model as one stage, which has no boundaries.
std::vector<ParameterInfo> model_layout(const ModelOptions& model);

}  // namespace swarm::tensor
