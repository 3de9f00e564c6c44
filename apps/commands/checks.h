/// Checks of command-line values that CLI11 does not have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace swarm::apps {

/// Without it a negative number becomes a huge one; CLI::NonNegativeNumber tells of a range up to
/// 1.8e308, digit by digit.
inline CLI::Validator not_negative() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.find('-') == std::string::npos ? std::string() : "takes 0 or more, not " + text;
      },
      "");
}

}  // namespace swarm::apps
