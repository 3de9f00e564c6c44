#include "tensor/gpt/torch/gpt_reference.h"

#include <torch/torch.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace swarm::tensor {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

struct BlockImpl : nn::Module {
  explicit BlockImpl(const ModelOptions& m) : heads(m.heads), width(m.width) {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({m.width})));
    qkv = register_module("attention_qkv", nn::Linear(m.width, 3 * m.width));
    out = register_module("attention_out", nn::Linear(m.width, m.width));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({m.width})));
    up = register_module("mlp_up", nn::Linear(m.width, m.ffn));
    down = register_module("mlp_down", nn::Linear(m.ffn, m.width));
  }

  Tensor attend(const Tensor& x, const Tensor& future) {
    const int64_t batch = x.size(0), sequence = x.size(1), depth = width / heads;
    auto split = qkv(x).chunk(3, -1);
    for (Tensor& part : split) part = part.view({batch, sequence, heads, depth}).transpose(1, 2);
    Tensor scores = torch::matmul(split[0] / std::sqrt(double(depth)), split[1].transpose(-2, -1));
    Tensor weights = torch::softmax(scores + future, -1);
    return out(torch::matmul(weights, split[2]).transpose(1, 2).reshape({batch, sequence, width}));
  }

  Tensor forward(Tensor x, const Tensor& future) {
    x = x + attend(norm1(x), future);
    return x + down(torch::gelu(up(norm2(x))));
  }

  const int64_t heads, width;
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(Block);

/// What lies between two stages, both sides of it.
struct NarrowPlaceImpl : nn::Module {
  explicit NarrowPlaceImpl(const ModelOptions& m) : factor(m.boundary_factor) {
    const int64_t narrow = m.width / m.boundary_factor;
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({m.width})));
    if (m.boundary == Boundary::kBottleneck)
      reduce = register_module("reduce", nn::Linear(m.width, narrow));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({narrow})));
    expand = register_module("expand", nn::Linear(narrow, m.width));
  }

  Tensor forward(const Tensor& x) {
    const Tensor h = norm1(x);  // [B, T, D]: max_pool1d takes windows of its last dimension
    return expand(norm2(reduce ? reduce(h) : torch::max_pool1d(h, factor)));
  }

  const int64_t factor;
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear reduce{nullptr}, expand{nullptr};
};
TORCH_MODULE(NarrowPlace);

struct GptImpl : nn::Module {
  explicit GptImpl(const ModelOptions& m) : repeats(m.repeats) {
    tokens = register_module("embedding_tokens", nn::Embedding(m.vocabulary, m.width));
    positions = register_module("embedding_positions", nn::Embedding(m.sequence, m.width));
    for (int32_t i = 0; i < m.layers; ++i) {
      blocks.push_back(register_module("layers_" + std::to_string(i), Block(m)));
    }
    if (m.boundary != Boundary::kNone) {
      size_t end = 0;
      for (size_t stage = 0; stage + 1 < m.layers_per_stage.size(); ++stage) {
        end += static_cast<size_t>(m.layers_per_stage[stage]);
        const std::string name = "boundaries_" + std::to_string(stage);
        boundaries.emplace(end, register_module(name, NarrowPlace(m)));
      }
    }
    norm = register_module("head_norm", nn::LayerNorm(nn::LayerNormOptions({m.width})));
    head =
        register_module("head", nn::Linear(nn::LinearOptions(m.width, m.vocabulary).bias(false)));
    future = torch::full({m.sequence, m.sequence}, -INFINITY).triu(1);
  }

  /// Sum over samples of the mean over tokens.
  Tensor loss(const Tensor& window) {
    const int64_t sequence = window.size(1) - 1;
    Tensor x = tokens(window.narrow(1, 0, sequence)) + positions(torch::arange(sequence));
    Tensor mask = future.narrow(0, 0, sequence).narrow(1, 0, sequence);
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (int32_t repeat = 0; repeat < repeats; ++repeat) x = blocks[i](x, mask);
      const auto found = boundaries.find(i + 1);
      if (found != boundaries.end()) x = found->second(x);
    }
    Tensor logits = head(norm(x)).flatten(0, 1);
    Tensor targets = window.narrow(1, 1, sequence).reshape({-1});
    auto sum = nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
    return nn::functional::cross_entropy(logits, targets, sum) / static_cast<double>(sequence);
  }

  const int32_t repeats;
  nn::Embedding tokens{nullptr}, positions{nullptr};
  std::vector<Block> blocks;
  std::map<size_t, NarrowPlace> boundaries;  ///< By the number of blocks in front of them.
  nn::LayerNorm norm{nullptr};
  nn::Linear head{nullptr};
  Tensor future;
};
TORCH_MODULE(Gpt);

/// "layers_3.attention_qkv.weight" is called "layers.3.attention.qkv.weight" elsewhere; embeddings
/// have no ".weight" there.
std::string global_name(std::string name) {
  for (char& c : name) {
    if (c == '_') c = '.';
  }
  const std::string tail = ".weight";
  bool embedding = name.compare(0, 10, "embedding.") == 0;
  return embedding ? name.substr(0, name.size() - tail.size()) : name;
}

class GptReference final : public ReferenceModel {
 public:
  explicit GptReference(const ModelOptions& model) : model_(model) {}

  std::vector<Parameter> parameters() const override {
    std::vector<Parameter> out;
    for (const auto& item : model_->named_parameters()) {
      const bool matrix =
          item.value().dim() == 2 && item.key().find("positions") == std::string::npos;
      out.push_back({global_name(item.key()), item.value(), matrix});
    }
    return out;
  }
  Tensor loss(const Tensor& window) override { return model_->loss(window); }

 private:
  Gpt model_;
};

}  // namespace

std::unique_ptr<ReferenceModel> make_gpt_reference(const ModelOptions& model) {
  return std::make_unique<GptReference>(model);
}

}  // namespace swarm::tensor
