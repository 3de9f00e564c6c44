/// Experiment files written in a test, and what is wrong with them.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace swarm::testing {

const std::string kMinimal = "[data]\ntrain = [\"text\"]\n";

inline config::Experiment good(const std::string& text,
                               const std::vector<std::string>& overrides = {}) {
  auto result = config::parse_experiment(text, "x.toml", overrides);
  BOOST_REQUIRE_MESSAGE(result.ok(), result.text());
  return *result.experiment;
}

inline std::vector<config::ConfigError> bad(const std::string& text,
                                            const std::vector<std::string>& overrides = {}) {
  auto result = config::parse_experiment(text, "x.toml", overrides);
  BOOST_REQUIRE(!result.ok());
  BOOST_REQUIRE(!result.errors.empty());
  return result.errors;
}

/// The only error of `text` appended to a minimal file of two lines.
inline config::ConfigError only(const std::string& text,
                                const std::vector<std::string>& overrides = {}) {
  auto errors = bad(kMinimal + text, overrides);
  for (const auto& error : errors) BOOST_TEST_INFO(error.text());
  BOOST_REQUIRE_EQUAL(errors.size(), 1u);
  return errors[0];
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace swarm::testing
