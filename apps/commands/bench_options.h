/// Shared by the subcommands of `swarm bench`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "apps/commands/program.h"

namespace swarm::apps {

/// --rounds and --json. `options` outlive the command's callback.
template <class Options>
void add_rounds(CLI::App& command, Options& options, const std::string& rounds) {
  command.add_option("--rounds", options.rounds, rounds)
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command.add_flag("--json", options.json, "Prints JSON with every round");
}

/// Those that swarm-compute carries out.
void add_compute_benches(CLI::App& bench, Program& program);

}  // namespace swarm::apps
