// `swarm bench overhead` and `swarm bench pipeline`: what a swarm of real processes reaches of one process
// that trains the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "apps/bench/bench.h"
#include "apps/bench/figures/throughput_figures.h"
#include "apps/compute/compute.h"
#include "apps/compute/train_alone.h"
#include "apps/launch/launcher.h"
#include "apps/launch/run_folder.h"
#include "config/experiment.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

const char* const kModel =
    "[run]\nname = \"bench-throughput\"\n"
    "[model]\nlayers = 8\nwidth = 256\nheads = 4\nffn = 1024\nsequence = 128\n"
    "[data]\ntrain = [\"/usr/share/common-licenses\"]\n"
    "[training]\nmicrobatch = 8\nvalidation_samples = 8\n"
    "[checkpoint]\nevery_steps = 0\n";

/// What is compared. A synchronous pipeline of S stages idles (S - 1) / (M + S - 1) of a step of M
/// microbatches.
struct Comparison {
  int stages;
  const char* compute;
  const char* training;  ///< Steps and their size.
  const char* trainer;   ///< Further keys of its section.
};

constexpr int kMostThreads = 2;  // of the one process
constexpr const char* kFour = "max_in_flight = 4\n";

/// By --pipeline. Two stages get larger steps than one, four have steps of 16 microbatches, 4 under way.
std::vector<Comparison> comparisons(bool pipeline) {
  if (pipeline)
    return {{4, "fp32", "steps = 5\nbatch = 128\n", kFour},
            {4, "bf16", "steps = 5\nbatch = 128\n", kFour}};
  return {{1, "fp32", "steps = 7\nbatch = 32\n", ""},
          {2, "fp32", "steps = 5\nbatch = 128\n", ""},
          {1, "bf16", "steps = 7\nbatch = 32\n", ""}};
}

Result<double> alone(const actors::NodeOptions& options, int threads) {
  tensor::set_threads(threads);
  auto run = train_alone(options);
  if (!run) return run.error();
  return run->tokens_per_s;
}

Result<double> swarm(config::Experiment experiment) {
  auto folder = launch::make_run_folder(experiment);
  if (!folder) return folder.error();
  launch::LaunchOptions options;
  options.folder = *folder;
  launch::Launcher launcher(experiment, options);
  const auto report = launcher.run();
  if (report.outcome != launch::Outcome::kFinished)
    return Error{ErrorCode::kInternal, report.reason + "; see " + *folder};
  return launcher.state().tokens_per_second().value_or(0);
}

std::string experiment_text(const Comparison& what) {
  std::string text = kModel;
  text.insert(text.find("microbatch"), what.training);
  text += fmt::format("[pipeline]\nstages = {}\ncompute = \"{}\"\n[trainer]\n{}", what.stages,
                      what.compute, what.trainer);
  for (int stage = 0; stage < what.stages; ++stage)
    text += fmt::format("[[nodes]]\nname = \"stage{0}\"\nstages = [{0}]\n", stage);
  return text + "[[nodes]]\nname = \"trainer\"\ntrainer = true\n";
}

Result<ThroughputFigures> measure(const Comparison& what, int rounds) {
  auto loaded = config::parse_experiment(experiment_text(what), "swarm bench");
  if (!loaded.ok()) return Error{ErrorCode::kInternal, loaded.text()};
  ThroughputFigures figures;
  figures.stages = what.stages;
  figures.precision = what.compute;
  figures.threads = std::min(what.stages, kMostThreads);
  // Turn and turn about, medians: machines drift by more than what is measured here.
  for (int round = 0; round < rounds; ++round) {
    const auto one = alone(loaded.experiment->base, figures.threads);
    if (!one) return one.error();
    const auto other = swarm(*loaded.experiment);
    if (!other) return other.error();
    if (figures.threads > 1) {
      const auto thread = alone(loaded.experiment->base, 1);
      if (!thread) return thread.error();
      figures.one_thread.push_back(*thread);
    }
    figures.alone.push_back(*one);
    figures.swarm.push_back(*other);
  }
  return figures;
}

}  // namespace

int bench_throughput(const ThroughputBenchOptions& options) {
  std::vector<ThroughputFigures> all;
  for (const Comparison& what : comparisons(options.pipeline)) {
    auto figures = measure(what, options.rounds);
    if (!figures) {
      std::fprintf(stderr, "swarm bench: %s\n", to_string(figures.error()).c_str());
      return 1;
    }
    all.push_back(std::move(*figures));
  }
  const char* name = options.pipeline ? "pipeline" : "overhead";
  const auto text = options.json ? throughput_json(name, all) : throughput_table(all);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace swarm::apps
