/// A FlowScenario in virtual time.
#pragma once

#include "apps/bench/figures/flow.h"

namespace swarm::sim {

/// Requires at least one stage of at least one peer that is not absent.
apps::FlowResult run_flow(const apps::FlowScenario& scenario);

}  // namespace swarm::sim
