#include "apps/compute/train_alone.h"

#include "tensor/core/codec.h"
#include "tensor/data/text_data.h"

namespace swarm::apps {

tensor::ReferenceOptions reference_options(const actors::NodeOptions& options) {
  tensor::ReferenceOptions reference;
  reference.model = tensor::with_split(options.model, options.num_stages);
  reference.optimizer = options.optimizer;
  reference.batch = options.training.batch;
  reference.microbatch = options.training.microbatch;
  reference.steps = options.training.steps;
  return reference;
}

std::string rounding_left_out(const actors::NodeOptions& options) {
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

Result<tensor::ReferenceRun> train_alone(const actors::NodeOptions& options) {
  auto data = tensor::open_text_data(options.data, options.model.sequence);
  if (!data) return data.error();
  auto reference = reference_options(options);
  reference.autocast = options.compute == tensor::ComputeType::kBf16;
  return tensor::train_reference(reference, **data);
}

}  // namespace swarm::apps
