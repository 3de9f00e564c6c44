/// The subcommands of `swarm`. Each adds its options to the application and, when chosen, runs and
/// leaves its exit code: 0 done, 1 failed, 2 bad configuration or arguments, 130 interrupted.
/// Those that take a Program may go on in the second executable.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "apps/commands/program.h"

namespace swarm::apps {

constexpr int kBadConfig = 2;

void add_config(CLI::App& app, int& exit_code);
void add_key(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_node(CLI::App& app, Program& program);
void add_console(CLI::App& app, int& exit_code);
void add_collect(CLI::App& app, Program& program);
void add_audit(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, Program& program);
void add_compare(CLI::App& app, int& exit_code);
void add_sample(CLI::App& app, Program& program);
void add_bench(CLI::App& app, Program& program);
void add_sim(CLI::App& app, int& exit_code);
void add_sweep(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_device(CLI::App& app, Program& program);

/// FILE and --set, as most subcommands take them.
struct ConfigArguments {
  std::string file;
  std::vector<std::string> overrides;
};
void add_config_arguments(CLI::App& command, ConfigArguments& arguments, bool file_required = true);

}  // namespace swarm::apps
