/// A sweep file (TOML, docs/experiments.md): one experiment, many settings, some seeds. Read and
/// checked as a whole, all errors at once, before anything runs. Pure apart from reading files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace swarm::sweep {

/// One key of the experiment that a setting changes.
struct Assignment {
  std::string key;         ///< "optimizer.learning_rate", "nodes.s0-a.delay_s"
  std::string value;       ///< As TOML.
  config::Location where;  ///< In the sweep file.
};

/// One combination of values; its runs differ only in their seeds.
struct Setting {
  std::string label;  ///< For people: "nag learning_rate=0.001".
  std::string slug;   ///< For folders.
  std::vector<Assignment> assignments;
  std::vector<uint64_t> seeds;     ///< Of its runs.
  std::optional<size_t> baseline;  ///< The setting that it is compared with, seed by seed.
};

/// One run.
struct Cell {
  std::string name;  ///< Unique; also its run.name: "nag_learning_rate-0.001_seed-2".
  size_t setting = 0;
  uint64_t seed = 1;
  std::vector<std::string> overrides;  ///< "key=value": what `swarm run --set` takes.
  std::string hash;  ///< Over the keys of its experiment that are not at their default.
};

struct Plan {
  std::string name;
  std::string base;  ///< Path of the experiment file.
  std::vector<Setting> settings;
  std::vector<Cell> cells;  ///< All settings with their first seed, then with their second, ...
  std::string baseline;     ///< The variant that others are compared with; may be empty.
  std::optional<double> target_loss;  ///< [nats per token] How soon is it reached?
};

/// Either a plan or at least one error, in the order of the file.
struct PlanResult {
  std::optional<Plan> plan;
  std::vector<config::ConfigError> errors;
  bool ok() const { return plan.has_value(); }
  std::string text() const;
};

/// How the experiment is loaded; a parameter for tests.
using LoadBase = std::function<config::ExperimentResult(const std::string& path,
                                                        const std::vector<std::string>& overrides)>;

PlanResult load_plan(const std::string& path);
/// The same from memory. `file` names it in errors; a relative sweep.base is relative to its
/// folder.
PlanResult parse_plan(const std::string& text, const std::string& file, const LoadBase& load);

}  // namespace swarm::sweep
