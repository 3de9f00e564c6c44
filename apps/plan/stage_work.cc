#include "apps/plan/stage_work.h"

#include "tensor/core/codec.h"
#include "tensor/core/memory_options.h"

namespace swarm::plan {
namespace {

/// Of a process with LibTorch that does nothing (docs/performance.md).
constexpr double kProcessBytes = 171e6;
/// Float32: parameters, gradient sum and both moments; what is sent and what comes back in a round.
constexpr double kBytesPerParameter = 24;
/// Where averages are encoded: what was lost of contributions and, of two members, of means; now and next.
constexpr double kResidualBytesPerParameter = 12;
/// Parameters and both moments.
constexpr double kStateBytesPerParameter = 12;

double head_flops(const tensor::ModelOptions& model) {
  return 2.0 * model.width * model.vocabulary;
}

/// Of a stage's narrowing and widening, forward.
double boundary_flops(const tensor::ModelOptions& model, bool first, bool last) {
  if (model.boundary == tensor::Boundary::kNone) return 0;
  const double linear = 2.0 * model.width * tensor::boundary_width(model);
  const bool narrows = !last && model.boundary == tensor::Boundary::kBottleneck;
  return linear * ((narrows ? 1 : 0) + (first ? 0 : 1));
}

}  // namespace

double block_flops(const tensor::ModelOptions& model) {
  const double d = model.width, f = model.ffn, t = model.sequence;
  return 8 * d * d + 4 * d * f + 4 * t * d;
}

double flops_per_token(const tensor::ModelOptions& model) {
  return 3 * (double(model.layers) * model.repeats * block_flops(model) + head_flops(model));
}

std::vector<uint64_t> parameters(const tensor::ModelOptions& model, int32_t stages) {
  std::vector<uint64_t> counts;
  for (int32_t stage = 0; stage < stages; ++stage)
    counts.push_back(tensor::stage_parameters(model, stage, stages));
  return counts;
}

std::vector<StageWork> stage_work(const Job& job, const std::vector<uint64_t>& parameters,
                                  uint32_t microbatch, tensor::Codec codec) {
  const auto& model = job.model;
  const auto stages = static_cast<int32_t>(parameters.size());
  const double tokens = double(microbatch) * model.sequence;
  const double body =
      microbatch * static_cast<double>(tensor::boundary_bytes_per_sample(model, codec, codec));
  const bool again = job.backward == tensor::BackwardPolicy::kRecompute;
  const bool versions = !again && (job.mode == Mode::kAsync || job.mode == Mode::kBackground);
  const auto version = double(tensor::version_bytes_per_parameter(job.compute, {}));
  std::vector<StageWork> all;
  for (int32_t stage = 0; stage < stages; ++stage) {
    const bool first = stage == 0, last = stage == stages - 1;
    const int32_t blocks = tensor::stage_layers(model, stage, stages).count;
    const auto count = static_cast<double>(parameters[static_cast<size_t>(stage)]);
    const auto kept =
        double(tensor::kept_bytes_per_sample(model, stage, stages, job.backward)) * microbatch;
    StageWork work;
    const double once = double(blocks) * model.repeats * block_flops(model) +
                        (stages > 1 ? boundary_flops(model, first, last) : 0);
    // Again, but what the last stage computes last, of which the graph is still there.
    const double applied = double(blocks) * model.repeats;
    const double twice = !again ? 0 : last ? (applied - 1) / applied : 1;
    work.flops = tokens * once * (3 + twice);
    if (last) work.flops += tokens * head_flops(model) * 3;
    work.up_bytes = work.down_bytes = body * ((first ? 0 : 1) + (last ? 0 : 1));
    work.averaged_bytes = double(tensor::codec_info(job.averaging).bytes(uint64_t(count)));
    work.state_bytes = count * kStateBytesPerParameter;
    work.fixed_bytes =
        kProcessBytes + count * (kBytesPerParameter + version - sizeof(float)) +
        microbatch * double(tensor::backward_bytes_per_sample(model, stage, stages, job.backward));
    if (job.averaging != tensor::Codec::kNone)
      work.fixed_bytes += count * kResidualBytesPerParameter;
    if (last) work.fixed_bytes += double(tensor::loss_bytes(model, microbatch));
    work.resident_bytes = (first || last ? 1 : 2) * body + kept;
    if (versions && !last) work.resident_bytes += count * version;
    all.push_back(work);
  }
  return all;
}

}  // namespace swarm::plan
