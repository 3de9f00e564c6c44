/// Checks across keys: names, references, and the validate() of the Options structs, with every
/// error mapped back to the line of its key. Internal to config/.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace swarm::config {

/// Where each key was written.
struct Places {
  struct Table {
    Location self;
    std::map<std::string, Location> keys;  ///< "nodes.name"
    bool failed = false;                   ///< One of its keys was already reported.
  };
  Location file;
  std::map<std::string, Location> keys;      ///< "model.layers"; the last one that set it.
  std::map<std::string, Location> sections;  ///< "model"
  std::vector<Table> nodes;                  ///< Parallel to Experiment::nodes.
  std::vector<Table> paths;                  ///< Parallel to Experiment::paths.
  std::vector<Table> timeline;               ///< Parallel to Experiment::timeline.

  /// Where "section.key" was written: the key, else its section, else the file.
  Location of(const std::string& path) const;
};

struct Draft {
  Experiment experiment;
  Places places;
  std::set<std::string> failed_sections;  ///< Sections with a key that was already reported.
  std::vector<ConfigError> errors;
};

/// Appends to draft.errors. Leaves out checks whose inputs were already reported.
void check(Draft& draft);

}  // namespace swarm::config
