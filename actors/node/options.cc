#include "actors/node/options.h"

#include <fmt/format.h>

#include "tensor/core/codec.h"

namespace swarm::actors {
namespace {

Error invalid(std::string detail) { return {ErrorCode::kInvalidArgument, std::move(detail)}; }

}  // namespace

std::vector<Error> TrainingOptions::validate() const {
  std::vector<Error> errors;
  if (steps == 0) errors.push_back(invalid("training.steps: expected at least 1, found 0"));
  if (microbatch == 0) {
    errors.push_back(invalid("training.microbatch: expected at least 1, found 0"));
    return errors;
  }
  auto multiple = [&](const char* name, uint32_t value) {
    if (value == 0 || value % microbatch != 0)
      errors.push_back(invalid(
          fmt::format("training.{}: expected a multiple of training.microbatch = {}, found {}",
                      name, microbatch, value)));
  };
  multiple("batch", batch);
  if (batch > 0 && sync_every % batch != 0)
    errors.push_back(invalid(
        fmt::format("training.sync_every: expected a multiple of training.batch = {}, found {}",
                    batch, sync_every)));
  if (local_update_every == 0)
    errors.push_back(invalid("training.local_update_every: expected at least 1, found 0"));
  if (delayed_updates && !replicas_equal())
    errors.push_back(
        invalid("training.delayed_updates: expected false with training.mode = "
                "\"async\", whose updates wait for nobody; found true"));
  multiple("validation_samples", validation_samples);
  if (min_peers_per_stage == 0)
    errors.push_back(invalid("training.min_peers_per_stage: expected at least 1, found 0"));
  if (continue_after <= std::chrono::milliseconds(0))
    errors.push_back(
        invalid(fmt::format("training.continue_after_s: expected more than 0, found {}",
                            static_cast<double>(continue_after.count()) / 1000)));
  return errors;
}

std::string what_rounds(const NodeOptions& options) {
  std::string out;
  const auto add = [&out](const std::string& key, const std::string& value) {
    out += (out.empty() ? "" : ", ") + key + " = " + value;
  };
  const auto add_codec = [&add](const std::string& key, tensor::Codec codec) {
    if (codec != tensor::Codec::kNone) add(key, tensor::codec_info(codec).name);
  };
  if (options.num_stages > 1) {
    add_codec("wire.activations", options.activation_codec);
    add_codec("wire.gradients", options.gradient_codec);
  }
  add_codec("wire.averaging", options.averager.codec);
  if (options.compute == tensor::ComputeType::kBf16) add("pipeline.compute", "bf16");
  return out;
}

}  // namespace swarm::actors
