/// What `swarm plan` prints. Pure.
#pragma once

#include <string>

#include "apps/plan/search.h"

namespace swarm::plan {

/// The best ways, `top` at most, a row each, then answers in words.
std::string plan_text(const PlanInput& input, const Found& found, size_t top);

/// The same figures, unrounded: docs/planner.md names them.
std::string plan_json(const PlanInput& input, const Found& found, size_t top);

}  // namespace swarm::plan
