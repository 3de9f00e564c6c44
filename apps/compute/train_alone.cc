#include "apps/compute/train_alone.h"

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

tensor::ReferenceOptions reference_options(const actors::NodeOptions& options,
                                           const launch::RecordedSteps& history) {
  auto reference = reference_options(options);
  for (const auto& [number, step] : history) {
    reference.skipped[number].assign(step.skipped.begin(), step.skipped.end());
    if (step.computed_on != number) reference.computed_on[number] = step.computed_on;
  }
  return reference;
}

Result<tensor::ReferenceRun> train_alone(const actors::NodeOptions& options) {
  auto data = tensor::open_text_data(options.data, options.model.sequence);
  if (!data) return data.error();
  auto reference = reference_options(options);
  reference.autocast = options.compute == tensor::ComputeType::kBf16;
  return tensor::train_reference(reference, **data);
}

}  // namespace swarm::apps
