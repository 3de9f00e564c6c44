// The GPT without LibTorch: its options' rules, its parameters and their initial values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tensor/core/architecture.h"
#include "tensor/core/block_sizes.h"

namespace swarm::tensor {

const Architecture& gpt_architecture();  // a row of tensor/models.cc

namespace {

constexpr float kDeviation = 0.02f;

std::vector<Error> check(const ModelOptions& model) {
  if (model.heads < 1 || model.width < 1 || model.width % model.heads == 0) return {};
  return {{ErrorCode::kInvalidArgument,
           fmt::format("model.width: must be divisible by model.heads (got {} and {})", model.width,
                       model.heads)}};
}

uint64_t widest(const ModelOptions& model, uint64_t sequence) {
  const auto widest = static_cast<uint64_t>(std::max(model.width * 3, model.ffn));
  if (sequence > static_cast<uint64_t>(kWholeAttention)) return widest;
  return std::max(widest, sequence * static_cast<uint64_t>(model.heads));
}

void add_norm(const std::string& name, int64_t width, LayoutBuilder& builder) {
  builder.vector(name + ".weight", width, 1).always_fp32 = true;
  builder.vector(name + ".bias", width, 0).always_fp32 = true;
}

void add_block(const ModelOptions& model, LayoutBuilder& builder) {
  const int64_t width = model.width, ffn = model.ffn;
  // Each block adds twice to the residual stream: smaller there, so that its scale stays put.
  const float blocks = static_cast<float>(model.layers) * static_cast<float>(model.repeats);
  const float residual = kDeviation / std::sqrt(2.0f * blocks);
  add_norm("norm1", width, builder);
  builder.matrix("attention.qkv.weight", 3 * width, width, kDeviation);
  // The keys' biases add q.b to all scores of a query alike, which softmax takes away again.
  ParameterInfo& bias = builder.vector("attention.qkv.bias", 3 * width, 0);
  bias.noise_begin = static_cast<uint64_t>(width);
  bias.noise_end = 2 * static_cast<uint64_t>(width);
  builder.matrix("attention.out.weight", width, width, residual);
  builder.vector("attention.out.bias", width, 0);
  add_norm("norm2", width, builder);
  builder.matrix("mlp.up.weight", ffn, width, kDeviation);
  builder.vector("mlp.up.bias", ffn, 0);
  builder.matrix("mlp.down.weight", width, ffn, residual);
  builder.vector("mlp.down.bias", width, 0);
}

/// What a stage that is not the last ends with.
void add_narrowing(const ModelOptions& model, LayoutBuilder& builder) {
  const int64_t width = model.width, narrow = boundary_width(model);
  add_norm("norm1", width, builder);
  if (model.boundary == Boundary::kBottleneck) {
    builder.matrix("reduce.weight", narrow, width, kDeviation);
    builder.vector("reduce.bias", narrow, 0);
  }
  add_norm("norm2", narrow, builder);
}

std::vector<ParameterInfo> layout(const ModelOptions& model, const StagePart& part) {
  LayoutBuilder builder;
  if (part.first) {
    builder.matrix("embedding.tokens", model.vocabulary, model.width, kDeviation).always_fp32 =
        true;
    ParameterInfo& positions =
        builder.matrix("embedding.positions", model.sequence, model.width, kDeviation);
    positions.decayed = false;
    positions.always_fp32 = true;
  }
  const bool boundaries = model.boundary != Boundary::kNone;
  if (boundaries && !part.first) {
    builder.prefix("boundary.", fmt::format("boundaries.{}.", part.stage - 1));
    builder.matrix("expand.weight", model.width, boundary_width(model), kDeviation);
    builder.vector("expand.bias", model.width, 0);
  }
  for (int32_t i = 0; i < part.layers.count; ++i) {
    builder.prefix(fmt::format("blocks.{}.", i), fmt::format("layers.{}.", part.layers.first + i));
    add_block(model, builder);
  }
  if (boundaries && !part.last) {
    builder.prefix("boundary.", fmt::format("boundaries.{}.", part.stage));
    add_narrowing(model, builder);
  }
  builder.prefix("", "");
  if (part.last) {
    add_norm("head.norm", model.width, builder);
    builder.matrix("head.weight", model.vocabulary, model.width, kDeviation);
  }
  return builder.take();
}

}  // namespace

const Architecture& gpt_architecture() {
  static const Architecture row = {"gpt", check, widest, layout};
  return row;
}

}  // namespace swarm::tensor
