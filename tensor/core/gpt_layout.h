/// Which parameters a stage of the GPT has, in which order, and their initial values. No LibTorch.
///
/// Pure. The flat vectors of a stage (parameters, gradients, moments) follow this layout; a
/// concatenation over the stages of any split is the layout of the unsplit model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/core/options.h"

namespace swarm::tensor {

struct ParameterInfo {
  std::string name;         ///< Within the stage, e.g. "blocks.0.attention.qkv.weight".
  std::string global_name;  ///< In the whole model, e.g. "layers.3.attention.qkv.weight".
  std::vector<int64_t> shape;
  uint64_t offset = 0;            ///< First element in the stage's flat vectors.
  uint64_t size = 0;              ///< Elements.
  bool decayed = false;           ///< Weight decay applies: matrices, but not the positions.
  float mean = 0, deviation = 0;  ///< Of the initial values.
};

/// Parameters of one stage. Requires valid arguments, as stage_layers().
std::vector<ParameterInfo> gpt_layout(const ModelOptions& model, int32_t stage, int32_t num_stages);

/// Elements of a layout.
uint64_t layout_size(const std::vector<ParameterInfo>& layout);

/// Writes the initial values of one parameter to out[0, size). They depend on `seed` and the global
/// name alone, and are the same bits on every machine (integer arithmetic up to one rounding).
void initial_values(uint64_t seed, const ParameterInfo& parameter, float* out);

}  // namespace swarm::tensor
