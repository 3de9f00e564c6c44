/// The sections of a sweep file as they stand, before they are put together. Internal to sweep/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/sweep/sweep_file.h"
#include "config/value.h"

namespace swarm::sweep {

struct Axis {
  std::string key;
  config::Location where;
  std::vector<Assignment> values;  ///< At least one.
};

struct Variant {
  std::string name;
  config::Location where;
  std::vector<uint64_t> seeds;  ///< Empty: those of the sweep.
  std::vector<Assignment> assignments;
};

struct Parts {
  std::string name, base;
  config::Location base_where;
  std::vector<uint64_t> seeds;
  std::string baseline;  ///< A variant's name, checked.
  std::optional<double> target_loss;
  std::vector<Assignment> common;
  std::vector<Axis> axes;
  std::vector<Variant> variants;
  std::vector<config::ConfigError> errors;
};

/// `file` gives the default of the name.
Parts read_parts(const config::Value& root, const std::string& file);

/// A value as `--set` takes it: one line of TOML.
std::string print_value(const config::Value& value);

}  // namespace swarm::sweep
