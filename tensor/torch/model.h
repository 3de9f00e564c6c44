/// A model that computes, and its plain counterpart for comparison: what an architecture provides in
/// LibTorch beside its Architecture (tensor/core/architecture.h). LibTorch; included by .cc files of
/// tensor/ only. Everything here may throw what LibTorch throws.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/core/architecture.h"
#include "tensor/core/options.h"

namespace swarm::tensor {

/// The forward pass of one stage as functions of weights. The weights come in the order of the
/// stage's layout, on the device where the input is; float32, or bfloat16 where the layout and
/// pipeline.compute say so. Activations between stages are float32 [B * T, W], W = boundary_width().
/// Thread: one at a time. Keeps nothing that depends on weights or input.
class Model {
 public:
  virtual ~Model() = default;

  /// `input` is tokens int64 [B, T] in the first stage, else activations [B * T, W]. Returns what is
  /// sent on, activations [B * T, W]; in the last stage those behind its last block, [B * T, D].
  virtual torch::Tensor blocks(const std::vector<torch::Tensor>& weights,
                               const torch::Tensor& input, int64_t batch, int64_t sequence) = 0;
  /// blocks() in pieces, one behind the other, for whoever has no room for the graph of all of it.
  /// Piece 0 takes what blocks() takes, each other one what the one before gives, and the last one
  /// gives what blocks() gives.
  virtual int32_t pieces() const { return 1; }
  virtual torch::Tensor piece(int32_t /*i*/, const std::vector<torch::Tensor>& weights,
                              const torch::Tensor& input, int64_t batch, int64_t sequence) {
    return blocks(weights, input, batch, sequence);
  }
  /// Last stage: activations [N, D] -> logits float32 [N, V]; each row by itself.
  virtual torch::Tensor logits(const std::vector<torch::Tensor>& weights,
                               const torch::Tensor& x) const = 0;
};

/// The same model, in one piece and written independently with LibTorch's own modules: what a swarm is
/// compared with. Initial values are whatever LibTorch draws.
class ReferenceModel {
 public:
  struct Parameter {
    std::string name;  ///< ParameterInfo::global_name
    torch::Tensor value;
    bool decayed = false;
  };

  virtual ~ReferenceModel() = default;

  /// Every parameter once, always in the same order; leaves that share memory with the model.
  virtual std::vector<Parameter> parameters() const = 0;
  /// Sum over samples of the mean over tokens of the cross-entropy. `window` is int64 [B, T + 1].
  virtual torch::Tensor loss(const torch::Tensor& window) = 0;
};

/// A row of the table in tensor/torch/models.cc.
struct ModelCode {
  std::unique_ptr<Model> (*make)(const ModelOptions& model, const StagePart& part,
                                 ComputeType compute);
  /// With the boundaries of the stages that model.layers_per_stage names; empty: without any.
  std::unique_ptr<ReferenceModel> (*make_reference)(const ModelOptions& model);
};

/// Requires a kind that is a row of the table.
const ModelCode& model_code(ModelKind kind);

}  // namespace swarm::tensor
