#include "apps/bench/figures/startup_figures.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {
namespace {

/// "console NODE -c nodes": the address differs from run to run.
std::string command_line(const StartupFigures::Command& command) {
  std::string line = "swarm";
  for (const auto& argument : command.arguments)
    line += argument.find(':') == std::string::npos ? " " + argument : " NODE";
  return line;
}

}  // namespace

std::string startup_table(const StartupFigures& figures) {
  TextTable commands({"command", "median ms", "slowest ms", "rounds"});
  for (const auto& one : figures.commands)
    commands.add({command_line(one), fmt::format("{:.1f}", median(one.milliseconds)),
                  fmt::format("{:.1f}", quantile(one.milliseconds, 1)),
                  fmt::format("{}", one.milliseconds.size())});
  TextTable nodes({"node without work", "resident MB"});
  for (const auto& one : figures.nodes)
    nodes.add({one.role, fmt::format("{:.1f}", one.resident_mb)});
  return commands.text() + "\n" + nodes.text();
}

std::string startup_json(const StartupFigures& figures) {
  auto commands = nlohmann::json::array(), nodes = nlohmann::json::array();
  for (const auto& one : figures.commands)
    commands.push_back({{"command", command_line(one)},
                        {"median_ms", median(one.milliseconds)},
                        {"slowest_ms", quantile(one.milliseconds, 1)},
                        {"rounds_ms", one.milliseconds}});
  for (const auto& one : figures.nodes)
    nodes.push_back({{"role", one.role}, {"resident_mb", one.resident_mb}});
  return nlohmann::json{{"startup", {{"commands", commands}, {"nodes", nodes}}}}.dump(2) + "\n";
}

}  // namespace swarm::apps
