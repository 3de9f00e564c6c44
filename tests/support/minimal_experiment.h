/// The smallest experiment file that is valid, with overrides: for tests of one section's keys.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace swarm::testing {

inline config::ExperimentResult parse_minimal(const std::vector<std::string>& overrides) {
  return config::parse_experiment("[data]\ntrain = [\"text\"]\n", "x.toml", overrides);
}

/// Requires that it is valid.
inline config::Experiment minimal_with(const std::vector<std::string>& overrides) {
  auto result = parse_minimal(overrides);
  BOOST_REQUIRE_MESSAGE(result.ok(), result.text());
  return *result.experiment;
}

}  // namespace swarm::testing
