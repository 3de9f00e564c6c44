// The GPT's forward pass: token and position embedding in the first stage; pre-norm blocks (layer
// norm, causal multi-head attention with one fused qkv matrix, GELU feed-forward), each applied
// model.repeats times in a row; final norm and untied head in the last (paper, Sec. 3.2; design Sec.
// 10). What lies between two stages: Boundary in tensor/core/options.h.

#include <torch/torch.h>

#include <tuple>

#include "common/check.h"
#include "tensor/gpt/torch/gpt_reference.h"
#include "tensor/torch/attention.h"
#include "tensor/torch/model.h"

namespace swarm::tensor {

const ModelCode& gpt_code();  // a row of tensor/torch/models.cc

namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr size_t kWeightsPerBlock = 12;

/// A piece is one application of a block, the first and the last one with what lies around the blocks.
class GptModel final : public Model {
 public:
  GptModel(const ModelOptions& model, const StagePart& part, ComputeType compute)
      : model_(model), part_(part), compute_(compute) {}

  torch::Tensor blocks(const std::vector<torch::Tensor>& weights, const torch::Tensor& input,
                       int64_t batch, int64_t sequence) override;
  int32_t pieces() const override { return part_.layers.count * model_.repeats; }
  torch::Tensor piece(int32_t i, const std::vector<torch::Tensor>& weights,
                      const torch::Tensor& input, int64_t batch, int64_t sequence) override;
  torch::Tensor logits(const std::vector<torch::Tensor>& weights,
                       const torch::Tensor& x) const override;

 private:
  torch::Tensor block(const torch::Tensor* w, torch::Tensor x, int64_t batch, int64_t sequence);
  torch::Tensor narrowed(const torch::Tensor* w, const torch::Tensor& x) const;
  torch::Tensor attention(const torch::Tensor& qkv, int64_t batch, int64_t sequence);
  torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                       const torch::Tensor& bias) const;
  bool has_boundaries() const { return model_.boundary != Boundary::kNone; }

  const ModelOptions model_;
  const StagePart part_;
  const ComputeType compute_;
  CausalAttention attention_;
};

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
  torch::Tensor mixed = attention_(parts.view({3, batch * heads, sequence, depth}));
  mixed = mixed.view({batch, heads, sequence, depth});
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

torch::Tensor GptModel::piece(int32_t i, const std::vector<torch::Tensor>& weights,
                              const torch::Tensor& input, int64_t batch, int64_t sequence) {
  torch::Tensor x = input;
  if (i == 0 && part_.first) {
    torch::Tensor positions = weights[1].narrow(0, 0, sequence);
    x = (torch::embedding(weights[0], input) + positions).view({batch * sequence, model_.width});
  } else if (i == 0 && has_boundaries()) {
    x = linear(input, weights[0], weights[1]).to(torch::kFloat32);
  }
  const torch::Tensor* first = &weights[part_.first || has_boundaries() ? 2 : 0];
  x = block(first + static_cast<size_t>(i / model_.repeats) * kWeightsPerBlock, x, batch, sequence);
  if (i + 1 < pieces() || part_.last || !has_boundaries()) return x;
  return narrowed(first + static_cast<size_t>(part_.layers.count) * kWeightsPerBlock, x);
}

torch::Tensor GptModel::blocks(const std::vector<torch::Tensor>& weights,
                               const torch::Tensor& input, int64_t batch, int64_t sequence) {
  torch::Tensor x = input;
  for (int32_t i = 0; i < pieces(); ++i) x = piece(i, weights, x, batch, sequence);
  return x;
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
