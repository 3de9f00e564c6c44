/// What one block of a model takes here.
#pragma once

#include "actors/node/options.h"
#include "common/result.h"

namespace swarm::apps {

/// Seconds of a forward and a backward pass of one microbatch through one block of the experiment's model,
/// without embedding, head and boundaries; the median of three seconds of them. Computes on the calling thread.
/// Errors: those of tensor::make_stage() and the passes.
Result<double> block_seconds(const actors::NodeOptions& options);

}  // namespace swarm::apps
