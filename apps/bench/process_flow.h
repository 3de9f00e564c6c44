/// A FlowScenario with processes on this machine: nodes that compute by waiting, behind shaped links.
#pragma once

#include <string>
#include <vector>

#include "apps/bench/figures/flow.h"
#include "common/result.h"

namespace swarm::apps {

/// Starts the swarm, lets it settle from its first closed step on, measures, ends it; its run folder
/// stays. `overrides` are as of `swarm run --set`. Call on the main thread. Errors:
/// kInvalidArgument (an override), kIo, kInternal (the swarm failed, or a node did not answer),
/// kCancelled (the user's Ctrl-C).
Result<FlowResult> run_processes(const FlowScenario& scenario,
                                 const std::vector<std::string>& overrides);

}  // namespace swarm::apps
