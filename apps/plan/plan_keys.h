/// The keys of a plan file. Internal to plan_file.cc.
#pragma once

#include <string>
#include <vector>

#include "apps/plan/plan_input.h"
#include "config/schema.h"

namespace swarm::plan {

/// What the sections are read into.
struct Draft {
  std::string experiment;
  Job job;
  Search search;
  Reference reference;
};

/// [plan], [search] and [reference].
const std::vector<config::Key<Draft>>& draft_keys();
/// [[devices]]
const std::vector<config::Key<Device>>& device_keys();
/// [model], as in an experiment.
std::vector<config::Key<config::Experiment>> model_keys();

}  // namespace swarm::plan
