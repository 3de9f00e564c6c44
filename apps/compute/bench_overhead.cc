#include <cstdio>
#include <filesystem>
#include <vector>

#include "apps/compute/compute.h"
#include "apps/compute/train_alone.h"
#include "apps/launch/launcher.h"
#include "apps/launch/run_folder.h"
#include "common/statistics.h"
#include "config/experiment.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

const char* const kModel =
    "[run]\nname = \"bench-overhead\"\n"
    "[model]\nlayers = 8\nwidth = 256\nheads = 4\nffn = 1024\nsequence = 128\n"
    "[data]\ntrain = [\"/usr/share/common-licenses\"]\n"
    "[training]\nmicrobatch = 8\nvalidation_samples = 8\n"
    "[checkpoint]\nevery_steps = 0\n";

constexpr int kRounds = 3;

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

/// A synchronous pipeline of S stages idles (S - 1) / (M + S - 1) of a step of M microbatches, so
/// two stages get the larger step; both sides of a comparison train the same steps.
int measure(int stages, const std::string& training) {
  std::string text = kModel;
  text.insert(text.find("microbatch"), training);
  text += "[pipeline]\nstages = " + std::to_string(stages) + "\n";
  for (int stage = 0; stage < stages; ++stage)
    text += "[[nodes]]\nname = \"stage" + std::to_string(stage) + "\"\nstages = [" +
            std::to_string(stage) + "]\n";
  text += "[[nodes]]\nname = \"trainer\"\ntrainer = true\n";
  auto loaded = config::parse_experiment(text, "bench overhead");
  if (!loaded.ok()) {
    std::fputs(loaded.text().c_str(), stderr);
    return 1;
  }
  // Turn and turn about, medians: machines drift by more than what is measured here.
  std::vector<double> plain, distributed;
  for (int round = 0; round < kRounds; ++round) {
    const auto one = alone(loaded.experiment->base, stages);
    const auto other = swarm(*loaded.experiment);
    for (const auto* result : {&one, &other})
      if (!result->ok()) {
        std::fprintf(stderr, "swarm bench: %s\n", to_string(result->error()).c_str());
        return 1;
      }
    plain.push_back(*one);
    distributed.push_back(*other);
  }
  std::printf(
      "%d stage%s x 1 peer, 1 thread each: %8.0f tokens/s; one process, %d thread%s: %8.0f "
      "tokens/s; ratio %.3f\n",
      stages, stages == 1 ? "" : "s", median(distributed), stages, stages == 1 ? "" : "s",
      median(plain), median(distributed) / median(plain));
  for (int round = 0; round < kRounds; ++round)
    std::printf("  round %d: %.0f against %.0f, ratio %.3f\n", round + 1, distributed[round],
                plain[round], distributed[round] / plain[round]);
  std::fflush(stdout);
  return 0;
}

}  // namespace

int bench_overhead() {
  if (const int code = measure(1, "steps = 7\nbatch = 32\n"); code != 0) return code;
  return measure(2, "steps = 5\nbatch = 128\n");
}

}  // namespace swarm::apps
