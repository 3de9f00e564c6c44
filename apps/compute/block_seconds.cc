#include "apps/compute/block_seconds.h"

#include <chrono>
#include <vector>

#include "common/statistics.h"
#include "tensor/core/codec.h"
#include "tensor/torch/model_stage.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeastPasses = 5;
constexpr auto kMeasured = std::chrono::seconds(3);

/// One block of the model, applied once, without embedding, head and boundaries.
tensor::StageOptions block_of(const actors::NodeOptions& options) {
  tensor::StageOptions block;
  block.model = options.model;
  block.model.layers = block.num_stages = 3;
  block.model.layers_per_stage.clear();
  block.model.repeats = 1;
  block.model.boundary = tensor::Boundary::kNone;
  block.stage = 1;
  block.optimizer = options.optimizer;
  block.compute = options.compute;
  block.device = options.device;
  return block;
}

}  // namespace

Result<double> block_seconds(const actors::NodeOptions& options) {
  auto block = tensor::make_stage(block_of(options));
  if (!block) return block.error();
  const std::vector<int64_t> shape = {options.training.microbatch, options.model.sequence,
                                      options.model.width};
  std::vector<float> values(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) / 17 - 0.5f;
  tensor::StageInput input;
  input.samples = options.training.microbatch;
  input.sequence = static_cast<uint32_t>(options.model.sequence);
  input.activations = tensor::encode(values.data(), shape, tensor::Codec::kNone);
  std::vector<double> seconds;
  const auto end = Clock::now() + kMeasured;
  for (int pass = 0; pass <= kLeastPasses || Clock::now() < end; ++pass) {
    const auto begin = Clock::now();
    const auto out = (*block)->forward({}, input, /*forward_only=*/false);
    if (!out) return out.error();
    const auto gradient = (*block)->backward({}, *out, /*accumulate=*/true);
    if (!gradient) return gradient.error();
    (*block)->clear_gradients();
    if (pass > 0)  // the first faults in memory
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return median(seconds);
}

}  // namespace swarm::apps
