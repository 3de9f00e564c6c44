// The GPT's forward pass: token and position embedding in the first stage; pre-norm blocks (layer
// norm, causal multi-head attention with one fused qkv matrix, GELU feed-forward), each applied
// model.repeats times in a row; final norm and untied head in the last (paper, Sec. 3.2; design Sec.
// 10). What lies between two stages: Boundary in tensor/core/options.h.

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "common/check.h"
#include "tensor/gpt/torch/gpt_reference.h"
#include "tensor/torch/model.h"

namespace swarm::tensor {

const ModelCode& gpt_code();  // a row of tensor/torch/models.cc

namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr size_t kWeightsPerBlock = 12;

/// Keeps nothing but the causal mask.
class GptModel final : public Model {
 public:
  GptModel(const ModelOptions& model, const StagePart& part, ComputeType compute)
      : model_(model), part_(part), compute_(compute) {}

  torch::Tensor blocks(const std::vector<torch::Tensor>& weights, const torch::Tensor& input,
                       int64_t batch, int64_t sequence) override;
  torch::Tensor logits(const std::vector<torch::Tensor>& weights,
                       const torch::Tensor& x) const override;

 private:
  torch::Tensor block(const torch::Tensor* w, torch::Tensor x, int64_t batch, int64_t sequence);
  torch::Tensor narrowed(const torch::Tensor* w, const torch::Tensor& x) const;
  torch::Tensor attention(const torch::Tensor& qkv, int64_t batch, int64_t sequence);
  torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                       const torch::Tensor& bias) const;
  const torch::Tensor& mask(int64_t sequence, torch::Device device);

  const ModelOptions model_;
  const StagePart part_;
  const ComputeType compute_;
  torch::Tensor mask_;  // float32 [T, T]: 0 on and below the diagonal, else -inf
};

const torch::Tensor& GptModel::mask(int64_t sequence, torch::Device device) {
  if (!mask_.defined() || mask_.size(0) != sequence) {
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    mask_ = torch::full({sequence, sequence}, kNever, device).triu(1);
  }
  return mask_;
}

torch::Tensor GptModel::linear(const torch::Tensor& x, const torch::Tensor& weight,
                               const torch::Tensor& bias) const {
  if (compute_ == ComputeType::kFp32) return torch::addmm(bias, x, weight.t());
  return torch::addmm(bias, x.to(torch::kBFloat16), weight.t());
}

torch::Tensor GptModel::attention(const torch::Tensor& qkv, int64_t batch, int64_t sequence) {
  const int64_t heads = model_.heads, width = model_.width, depth = width / heads;
  // One copy for all three: [3, B, H, T, d].
  torch::Tensor parts =
      qkv.view({batch, sequence, 3, heads, depth}).permute({2, 0, 3, 1, 4}).contiguous();
  parts = parts.view({3, batch * heads, sequence, depth});
  torch::Tensor query = parts.select(0, 0), key = parts.select(0, 1), value = parts.select(0, 2);
  const double scale = 1 / std::sqrt(static_cast<double>(depth));
  const torch::Tensor& future = mask(sequence, qkv.device());
  torch::Tensor weights;
  if (compute_ == ComputeType::kFp32) {
    weights = torch::baddbmm(future, query, key.transpose(1, 2), 1, scale).softmax(-1);
  } else {
    torch::Tensor scores = query.bmm(key.transpose(1, 2)).to(torch::kFloat32);
    weights = (scores * scale + future).softmax(-1).to(torch::kBFloat16);
  }
  torch::Tensor mixed = weights.bmm(value).view({batch, heads, sequence, depth});
  return mixed.transpose(1, 2).reshape({batch * sequence, width});
}

torch::Tensor GptModel::block(const torch::Tensor* w, torch::Tensor x, int64_t batch,
                              int64_t sequence) {
  torch::Tensor h = torch::layer_norm(x, {model_.width}, w[0], w[1], kNormEpsilon);
  h = attention(linear(h, w[2], w[3]), batch, sequence);
  x = x + linear(h, w[4], w[5]);
  h = torch::layer_norm(x, {model_.width}, w[6], w[7], kNormEpsilon);
  return x + linear(torch::gelu(linear(h, w[8], w[9])), w[10], w[11]);
}

/// [N, D] -> [N, D / f], which is sent.
torch::Tensor GptModel::narrowed(const torch::Tensor* w, const torch::Tensor& x) const {
  const int64_t narrow = boundary_width(model_);
  torch::Tensor h = torch::layer_norm(x, {model_.width}, w[0], w[1], kNormEpsilon);
  if (model_.boundary == Boundary::kBottleneck) {
    h = linear(h, w[2], w[3]).to(torch::kFloat32);
    w += 2;
  } else {
    h = std::get<0>(h.view({-1, narrow, model_.boundary_factor}).max(-1));
  }
  return torch::layer_norm(h, {narrow}, w[2], w[3], kNormEpsilon);
}

torch::Tensor GptModel::blocks(const std::vector<torch::Tensor>& weights,
                               const torch::Tensor& input, int64_t batch, int64_t sequence) {
  const bool boundaries = model_.boundary != Boundary::kNone;
  torch::Tensor x = input;
  size_t next = 0;
  if (part_.first) {
    torch::Tensor positions = weights[1].narrow(0, 0, sequence);
    x = (torch::embedding(weights[0], input) + positions).view({batch * sequence, model_.width});
    next = 2;
  } else if (boundaries) {
    x = linear(input, weights[0], weights[1]).to(torch::kFloat32);
    next = 2;
  }
  for (int32_t i = 0; i < part_.layers.count; ++i, next += kWeightsPerBlock) {
    for (int32_t repeat = 0; repeat < model_.repeats; ++repeat)
      x = block(&weights[next], x, batch, sequence);
  }
  return boundaries && !part_.last ? narrowed(&weights[next], x) : x;
}

torch::Tensor GptModel::logits(const std::vector<torch::Tensor>& weights,
                               const torch::Tensor& x) const {
  SWARM_CHECK(part_.last);
  const torch::Tensor* w = &weights[weights.size() - 3];
  torch::Tensor h = torch::layer_norm(x, {model_.width}, w[0], w[1], kNormEpsilon);
  if (compute_ == ComputeType::kFp32) return h.mm(w[2].t());
  return h.to(torch::kBFloat16).mm(w[2].t()).to(torch::kFloat32);
}

std::unique_ptr<Model> make(const ModelOptions& model, const StagePart& part, ComputeType compute) {
  return std::make_unique<GptModel>(model, part, compute);
}

}  // namespace

const ModelCode& gpt_code() {
  static const ModelCode row = {make, make_gpt_reference};
  return row;
}

}  // namespace swarm::tensor
