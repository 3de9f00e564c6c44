/// The experiment of a swarm in one LibTorch process: what `verify` and `bench overhead` compare
/// with.
#pragma once

#include <string>

#include "actors/node/options.h"
#include "common/result.h"
#include "tensor/reference/one_process.h"

namespace swarm::apps {

/// Same model, optimizer, samples and number of steps as the nodes of the experiment.
tensor::ReferenceOptions reference_options(const actors::NodeOptions& options);

/// In the precision of the nodes' passes. Errors: of the data and as train_reference().
Result<tensor::ReferenceRun> train_alone(const actors::NodeOptions& options);

}  // namespace swarm::apps
