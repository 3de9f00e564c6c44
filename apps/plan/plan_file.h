/// A plan file (TOML, docs/planner.md). Read and checked as a whole, all errors at once. Pure apart from
/// reading it and the experiment that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/plan/plan_input.h"
#include "config/experiment.h"

namespace swarm::plan {

/// Either input or at least one error, in the order of the file.
struct PlanFileResult {
  std::optional<PlanInput> input;
  std::vector<config::ConfigError> errors;
  bool ok() const { return input.has_value(); }
  std::string text() const;
};

PlanFileResult load_plan_file(const std::string& path);
/// The same from memory. `file` names it in errors; plan.experiment is relative to its folder.
PlanFileResult parse_plan_file(const std::string& text, const std::string& file);

}  // namespace swarm::plan
