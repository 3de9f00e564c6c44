#include "config/memory_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tensor/core/memory_options.h"

namespace swarm::config {
namespace {

/// The activations of a microbatch in fp32.
uint64_t body_bytes(const actors::NodeOptions& options) {
  const auto& model = options.model;
  return options.training.microbatch * static_cast<uint64_t>(model.sequence) *
         static_cast<uint64_t>(tensor::boundary_width(model)) * sizeof(float);
}

/// What the stage that keeps most keeps of a microbatch: as a stage server books it.
uint64_t most_kept(const actors::NodeOptions& options) {
  const int32_t stages = options.num_stages;
  const auto device = tensor::parse_device(options.device);
  const uint64_t version =
      tensor::version_bytes_per_parameter(options.compute, device ? *device : tensor::Device());
  const bool versions = options.training.keeps_versions(options.backward);
  uint64_t most = 0;
  for (int32_t stage = 0; stage < stages - 1; ++stage) {
    uint64_t kept = options.training.microbatch *
                    tensor::kept_bytes_per_sample(options.model, stage, stages, options.backward);
    if (versions)
      kept += tensor::stage_parameters(options.model, stage, stages) * version /
              std::max(1u, options.training.local_update_every);
    most = std::max(most, kept);
  }
  return most;
}

}  // namespace

std::vector<TooSmall> too_little_memory(const actors::NodeOptions& options) {
  std::vector<TooSmall> found;
  const uint64_t body = body_bytes(options);
  const auto at_least_two = [&](const char* key, uint64_t bytes, uint64_t each) {
    if (bytes >= 2 * each) return;
    found.push_back({key, fmt::format("expected at least {}, room for two microbatches of {} bytes "
                                      "whose activations take {}; found {}",
                                      2 * each, each, body, bytes)});
  };
  at_least_two("links.receive_budget_bytes", options.links.receive_budget_bytes, body);
  at_least_two("stage_server.resident_bytes", options.stage_server.resident_bytes,
               2 * body + most_kept(options));
  return found;
}

std::vector<TooSmall> too_small_bodies(const actors::NodeOptions& options) {
  const uint64_t most = options.links.max_body_bytes;
  const uint64_t values = uint64_t{options.averager.chunk_elements} * sizeof(float);
  const uint64_t state = std::min(options.state_transfer.chunk_bytes, actors::kMaxStateChunkBytes);
  std::vector<TooSmall> found;
  const auto at_least = [&](uint64_t bytes, const char* what) {
    if (most < bytes && found.empty())
      found.push_back({"links.max_body_bytes",
                       fmt::format("expected at least {}, for {}; found {}", bytes, what, most)});
  };
  at_least(values, "averager.chunk_elements values of an average");
  at_least(state, "state_transfer.chunk_bytes of a state");
  return found;
}

std::vector<TooSmall> too_slow_states(const actors::NodeOptions& options) {
  constexpr double kDay_s = 86'400;
  const double rate = options.state_transfer.state_bytes_per_s;
  uint64_t most = 0;
  for (int32_t stage = 0; stage < options.num_stages; ++stage)
    most = std::max(most, tensor::stage_parameters(options.model, stage, options.num_stages));
  const double least = std::ceil(static_cast<double>(most * sizeof(float)) / kDay_s);
  if (rate == 0 || rate >= least) return {};
  return {
      {"state_transfer.state_bytes_per_s",
       fmt::format("expected at least {:.0f}, for the {} parameters of a stage to come within a "
                   "day, or 0; found {:g}",
                   least, most, rate)}};
}

}  // namespace swarm::config
