#include "tensor/core/gpt_layout.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>

namespace swarm::tensor {
namespace {

constexpr float kDeviation = 0.02f;

class Builder {
 public:
  void matrix(const std::string& name, int64_t rows, int64_t columns, float deviation = kDeviation,
              bool decayed = true) {
    add(name, {rows, columns}, decayed, 0, deviation);
  }
  void vector(const std::string& name, int64_t size, float value) {
    add(name, {size}, false, value, 0);
  }
  /// Following names get these prefixes.
  void prefix(std::string local, std::string global) {
    local_ = std::move(local);
    global_ = std::move(global);
  }
  std::vector<ParameterInfo> take() { return std::move(layout_); }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, bool decayed, float mean,
           float deviation) {
    ParameterInfo info;
    info.name = local_ + name;
    info.global_name = global_ + name;
    info.offset = next_;
    info.size = 1;
    for (int64_t extent : shape) info.size *= static_cast<uint64_t>(extent);
    info.shape = std::move(shape);
    info.decayed = decayed;
    info.mean = mean;
    info.deviation = deviation;
    next_ += info.size;
    layout_.push_back(std::move(info));
  }
  std::string local_, global_;
  uint64_t next_ = 0;
  std::vector<ParameterInfo> layout_;
};

void add_block(const ModelOptions& model, Builder& builder) {
  const int64_t width = model.width, ffn = model.ffn;
  // Each block adds twice to the residual stream: smaller there, so that its scale stays put.
  const float residual = kDeviation / std::sqrt(2.0f * static_cast<float>(model.layers));
  builder.vector("norm1.weight", width, 1);
  builder.vector("norm1.bias", width, 0);
  builder.matrix("attention.qkv.weight", 3 * width, width);
  builder.vector("attention.qkv.bias", 3 * width, 0);
  builder.matrix("attention.out.weight", width, width, residual);
  builder.vector("attention.out.bias", width, 0);
  builder.vector("norm2.weight", width, 1);
  builder.vector("norm2.bias", width, 0);
  builder.matrix("mlp.up.weight", ffn, width);
  builder.vector("mlp.up.bias", ffn, 0);
  builder.matrix("mlp.down.weight", width, ffn, residual);
  builder.vector("mlp.down.bias", width, 0);
}

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

int64_t sum_of_quarters(uint64_t bits) {
  return static_cast<int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) +
                              (bits >> 48));
}

}  // namespace

std::vector<ParameterInfo> gpt_layout(const ModelOptions& model, int32_t stage,
                                      int32_t num_stages) {
  const LayerRange range = stage_layers(model, stage, num_stages);
  Builder builder;
  if (stage == 0) {
    builder.matrix("embedding.tokens", model.vocabulary, model.width);
    builder.matrix("embedding.positions", model.sequence, model.width, kDeviation, false);
  }
  for (int32_t i = 0; i < range.count; ++i) {
    builder.prefix("blocks." + std::to_string(i) + ".",
                   "layers." + std::to_string(range.first + i) + ".");
    add_block(model, builder);
  }
  builder.prefix("", "");
  if (stage == num_stages - 1) {
    builder.vector("head.norm.weight", model.width, 1);
    builder.vector("head.norm.bias", model.width, 0);
    builder.matrix("head.weight", model.vocabulary, model.width);
  }
  return builder.take();
}

uint64_t layout_size(const std::vector<ParameterInfo>& layout) {
  return layout.empty() ? 0 : layout.back().offset + layout.back().size;
}

void initial_values(uint64_t seed, const ParameterInfo& parameter, float* out) {
  if (parameter.deviation == 0) {
    std::fill_n(out, parameter.size, parameter.mean);
    return;
  }
  const std::string& name = parameter.global_name;
  const uint64_t key = mix(mix(seed) ^ XXH64(name.data(), name.size(), 0));
  // The sum of 8 uniform 16-bit numbers is close to normal, and exact on every machine.
  const double center = 8 * 65535 / 2.0;
  const double unit = std::sqrt(8 * (65536.0 * 65536.0 - 1) / 12);
  const double factor = static_cast<double>(parameter.deviation) / unit;
  for (uint64_t i = 0; i < parameter.size; ++i) {
    int64_t sum = sum_of_quarters(mix(key + 2 * i)) + sum_of_quarters(mix(key + 2 * i + 1));
    out[i] = static_cast<float>((static_cast<double>(sum) - center) * factor);
  }
}

}  // namespace swarm::tensor
