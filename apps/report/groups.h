/// Which runs repeat one experiment with other seeds, and how the rest differ. Pure.
#pragma once

#include <string>
#include <vector>

#include "apps/report/run.h"

namespace swarm::report {

/// Runs that differ in nothing but their seeds, names and folders. A run whose settings are unknown
/// is a group of its own.
struct Group {
  std::string label;         ///< Unique in a report.
  std::vector<size_t> runs;  ///< Indexes, rising.
};
/// In the order of their first runs.
std::vector<Group> group_runs(const std::vector<Run>& runs);

/// A setting in which runs differ.
struct Difference {
  std::string key;
  std::vector<std::string> values;  ///< One per run; "-" where it has no such setting.
};
/// By key, nodes and timeline last; names, folders and ids left out. Runs with unknown settings are
/// not compared.
std::vector<Difference> differences(const std::vector<Run>& runs);

}  // namespace swarm::report
