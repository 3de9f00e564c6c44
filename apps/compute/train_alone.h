/// The experiment of a swarm in one LibTorch process: what `verify` and `bench overhead` compare
/// with.
#pragma once

#include <string>

#include "actors/node/options.h"
#include "apps/audit/recorded_steps.h"
#include "common/result.h"
#include "tensor/reference/one_process.h"

namespace swarm::apps {

/// Same model, optimizer, samples and number of steps as the nodes of the experiment.
tensor::ReferenceOptions reference_options(const actors::NodeOptions& options);

/// And the same slots left out and parameters computed on as in the history of the run.
tensor::ReferenceOptions reference_options(const actors::NodeOptions& options,
                                           const launch::RecordedSteps& history);

/// In the precision of the nodes' passes. Errors: of the data and as train_reference().
Result<tensor::ReferenceRun> train_alone(const actors::NodeOptions& options);

}  // namespace swarm::apps
