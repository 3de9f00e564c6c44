// `swarm bench startup`: what a command costs before it does anything, and what a node that
// computes nothing holds.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "apps/bench/bench.h"
#include "apps/bench/figures/startup_figures.h"
#include "apps/bench/idle_node.h"

namespace swarm::apps {
namespace {

/// From fork to exit [ms], to 0.2 ms. Errors: kInternal (another exit code than 0), kIo.
Result<double> time_command(const std::vector<std::string>& arguments, const std::string& output) {
  std::vector<std::string> all{"/proc/self/exe"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto begin = std::chrono::steady_clock::now();
  auto child = launch::ChildProcess::start(all, output);
  if (!child) return child.error();
  while (!child->reap()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (child->exit()->code == 0 && child->exit()->signal == 0) return took.count();
  return Error{ErrorCode::kInternal,
               "swarm " + arguments.front() + " ended with " + child->exit()->text()};
}

Result<StartupFigures> measure(int rounds) {
  const auto folder = IdleFolder::make();
  if (!folder) return folder.error();
  const auto seed = IdleNode::start(*folder, "seed");
  if (!seed) return seed.error();
  StartupFigures figures;
  figures.commands = {{{"--help"}, {}},
                      {{"--version"}, {}},
                      {{"console", seed->endpoint().text(), "-c", "nodes"}, {}}};
  for (int round = 0; round < rounds; ++round)  // turn and turn about: machines drift
    for (auto& command : figures.commands) {
      const auto took = time_command(command.arguments, folder->path() + "/command.out");
      if (!took) return took.error();
      command.milliseconds.push_back(*took);
    }
  figures.nodes.push_back({"seed", seed->settled_mb()});
  const auto trainer = IdleNode::start(*folder, "trainer");
  if (!trainer) return trainer.error();
  figures.nodes.push_back({"trainer", trainer->settled_mb()});
  return figures;
}

}  // namespace

int bench_startup(const StartupBenchOptions& options) {
  const auto figures = measure(options.rounds);
  if (!figures) {
    std::fprintf(stderr, "swarm bench: %s\n", to_string(figures.error()).c_str());
    return 1;
  }
  std::fputs((options.json ? startup_json(*figures) : startup_table(*figures)).c_str(), stdout);
  return 0;
}

}  // namespace swarm::apps
