// `swarm bench failover`: a real run whose stage peers are struck one after the other.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/bench/bench.h"
#include "apps/bench/figures/bench_failover_figures.h"
#include "apps/launch/launcher.h"
#include "apps/launch/line_tail.h"
#include "apps/launch/run_folder.h"
#include "config/experiment.h"
#include "records/catalogue.h"
#include "records/metrics.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<double> step_times(const std::string& folder) {
  std::vector<double> times;
  for (const auto& line : launch::LineTail(folder + "/metrics.jsonl").poll()) {
    const auto step = records::parse_metrics(line);
    if (step && step->time_s) times.push_back(*step->time_s);
  }
  return times;
}

std::vector<records::Event> events(const std::string& folder) {
  std::vector<records::Event> all;
  for (const auto& line : launch::LineTail(folder + "/events.jsonl").poll())
    if (auto event = records::parse_event(line)) all.push_back(*event);
  return all;
}

int fail(const std::string& why) {
  std::fprintf(stderr, "swarm bench: %s\n", why.c_str());
  return 1;
}

/// Trains until all blows have been dealt and have had their time.
launch::RunReport train(const config::Experiment& experiment, const std::string& folder,
                        double end_s) {
  launch::LaunchOptions options;
  options.folder = folder;
  const auto start = Clock::now();
  options.on_progress = [=](const std::string& text) {
    const double passed = std::chrono::duration<double>(Clock::now() - start).count();
    std::fprintf(stderr, "\r%3.0f of %.0f s  %s ", passed, end_s, text.c_str());
    if (passed > end_s) std::raise(SIGINT);  // the launcher drains its nodes
  };
  auto report = launch::Launcher(experiment, options).run();
  std::fputc('\n', stderr);
  return report;
}

}  // namespace

int bench_failover(const FailoverBenchOptions& options) {
  auto overrides = options.overrides;
  overrides.insert(overrides.end(), {"training.steps=1000000", "training.validate_every=0"});
  auto loaded = config::load_experiment(options.file, overrides, config::Timeline::kIgnore);
  if (!loaded.ok()) {
    std::fputs(loaded.text().c_str(), stderr);
    return 2;
  }
  auto experiment = *loaded.experiment;
  std::vector<std::string> peers;
  for (const auto& node : experiment.nodes)
    if (!node.stages.empty() && !node.trainer) peers.push_back(node.name);
  if (peers.empty()) return fail(options.file + " has no node that serves stages and nothing else");
  FailoverPlan plan;
  plan.kills = options.kills;
  plan.pauses = options.pauses;
  plan.seed = options.seed;
  experiment.timeline = failover_timeline(plan, peers);
  auto folder = launch::make_run_folder(experiment);
  if (!folder) return fail(to_string(folder.error()));
  const auto report = train(experiment, *folder, plan.end_s());
  if (report.outcome == launch::Outcome::kFailed) return fail(report.reason + "; see " + *folder);
  const auto blows = find_blows(events(*folder), step_times(*folder));
  std::fputs((options.json ? failover_json(blows) : failover_table(blows)).c_str(), stdout);
  std::fprintf(stderr, "the run is in %s\n", folder->c_str());
  return 0;
}

}  // namespace swarm::apps
