/// The GPT's forward pass as functions of weights. LibTorch; included by .cc files of tensor/ only.
#pragma once

#include <torch/types.h>

#include <vector>

#include "tensor/core/options.h"

namespace swarm::tensor {

/// Computes with the weights of one stage, in the order of gpt_layout(), on the device where they
/// and the input are. Keeps nothing but the causal mask. Activations are float32 [B * T, D];
/// matrices may be bfloat16.
class GptModel {
 public:
  GptModel(const ModelOptions& model, bool first, bool last, LayerRange layers, ComputeType compute)
      : model_(model), first_(first), last_(last), layers_(layers), compute_(compute) {}

  /// `input` is tokens int64 [B, T] in the first stage, else activations [B * T, D].
  /// Returns activations [B * T, D] behind the last block.
  torch::Tensor blocks(const std::vector<torch::Tensor>& weights, const torch::Tensor& input,
                       int64_t batch, int64_t sequence);
  /// Last stage: activations [N, D] -> logits float32 [N, V].
  torch::Tensor logits(const std::vector<torch::Tensor>& weights, const torch::Tensor& x) const;

 private:
  torch::Tensor attention(const torch::Tensor& qkv, int64_t batch, int64_t sequence);
  torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                       const torch::Tensor& bias) const;
  const torch::Tensor& mask(int64_t sequence, torch::Device device);

  const ModelOptions model_;
  const bool first_, last_;
  const LayerRange layers_;
  const ComputeType compute_;
  torch::Tensor mask_;  // float32 [T, T]: 0 on and below the diagonal, else -inf
};

}  // namespace swarm::tensor
