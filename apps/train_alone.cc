#include "apps/train_alone.h"

#include "tensor/text_data.h"

namespace swarm::apps {

Result<tensor::ReferenceRun> train_alone(const actors::NodeOptions& options) {
  auto data = tensor::open_text_data(options.data, options.model.sequence);
  if (!data) return data.error();
  tensor::ReferenceOptions reference;
  reference.model = options.model;
  reference.optimizer = options.optimizer;
  reference.batch = options.training.batch;
  reference.microbatch = options.training.microbatch;
  reference.steps = options.training.steps;
  return tensor::train_reference(reference, **data);
}

}  // namespace swarm::apps
