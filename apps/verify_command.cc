// `swarm verify`: a swarm's parameters against those of one LibTorch process on the same samples.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "apps/commands.h"
#include "apps/launch/launcher.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/summary.h"
#include "apps/run_display.h"
#include "apps/run_snapshots.h"
#include "apps/train_alone.h"
#include "config/experiment.h"
#include "tensor/gpt_layout.h"
#include "tensor/one_process.h"
#include "tensor/state_format.h"
#include "tensor/threads.h"

namespace swarm::apps {
namespace {

struct Arguments {
  ConfigArguments config;
  uint32_t steps = 20;
  std::string drop_slot;
  double tolerance = 0.01;
};

int fail(const Error& error) {
  std::fprintf(stderr, "swarm verify: %s\n", to_string(error).c_str());
  return 1;
}

/// Of one tensor: L2 norms of (swarm - reference) and (reference - initial values).
struct Difference {
  double away = 0, travelled = 0;
  double relative() const {
    if (away == 0) return 0;
    return travelled > 0 ? away / travelled : std::numeric_limits<double>::infinity();
  }
};

Difference compare(const float* swarm, const std::vector<float>& reference,
                   const std::vector<float>& initial) {
  double away = 0, travelled = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double difference = double{swarm[i]} - double{reference[i]};
    const double way = double{reference[i]} - double{initial[i]};
    away += difference * difference;
    travelled += way * way;
  }
  return {std::sqrt(away), std::sqrt(travelled)};
}

/// The worst replica of each tensor, by global name.
Result<std::map<std::string, Difference>> compare_all(const actors::NodeOptions& options,
                                                      const std::vector<StageSnapshot>& snapshots,
                                                      const tensor::NamedValues& reference) {
  std::map<std::string, Difference> out;
  for (const auto& snapshot : snapshots) {
    auto view = tensor::parse_state(snapshot.state);
    if (!view) return view.error();
    const auto layout = tensor::gpt_layout(options.model, snapshot.stage, options.num_stages);
    if (view->head.num_parameters() != tensor::layout_size(layout))
      return Error{ErrorCode::kShapeMismatch,
                   "the snapshot of " + snapshot.node + " is not of this model"};
    std::vector<float> values(view->head.num_parameters());
    std::memcpy(values.data(), view->payload.data(), values.size() * sizeof(float));
    for (const auto& parameter : layout) {
      const auto found = reference.find(parameter.global_name);
      if (found == reference.end() || found->second.size() != parameter.size)
        return Error{ErrorCode::kShapeMismatch, "the reference has no " + parameter.global_name};
      std::vector<float> initial(parameter.size);
      tensor::initial_values(options.model.seed, parameter, initial.data());
      const Difference difference =
          compare(values.data() + parameter.offset, found->second, initial);
      Difference& worst = out[parameter.global_name];
      if (difference.relative() >= worst.relative()) worst = difference;
    }
  }
  return out;
}

int judge(const std::map<std::string, Difference>& differences, double tolerance) {
  std::printf("%-40s %12s %12s %12s\n", "parameter", "|difference|", "|travelled|", "relative");
  int beyond = 0;
  double worst = 0;
  for (const auto& [name, difference] : differences) {
    const double relative = difference.relative();
    const bool bad = !(relative <= tolerance);
    beyond += bad;
    worst = std::max(worst, relative);
    std::printf("%-40s %12.3e %12.3e %12.3e%s\n", name.c_str(), difference.away,
                difference.travelled, relative, bad ? "  BEYOND" : "");
  }
  std::printf("%zu tensors, worst relative difference %.3e, tolerance %.3e: %s\n",
              differences.size(), worst, tolerance, beyond == 0 ? "equal" : "NOT EQUAL");
  return beyond == 0 ? 0 : 1;
}

Result<std::string> train_swarm(config::Experiment experiment) {
  auto folder = launch::make_run_folder(experiment);
  if (!folder) return folder.error();
  RunDisplay display(false);
  launch::LaunchOptions options;
  options.folder = *folder;
  options.on_progress = [&](const std::string& line) { display.progress(line); };
  launch::Launcher launcher(experiment, options);
  const auto report = launcher.run();
  display.finish();
  auto written = launch::write_atomically(
      *folder + "/summary.json",
      launch::summary_json(experiment, launcher.state(), report, std::nullopt));
  if (!written) return written.error();
  if (report.outcome != launch::Outcome::kFinished)
    return Error{ErrorCode::kInternal,
                 "the swarm did not finish: " + report.reason + " (" + *folder + ")"};
  return folder;
}

int verify(const Arguments& a) {
  auto overrides = a.config.overrides;
  overrides.push_back("training.steps=" + std::to_string(a.steps));
  if (!a.drop_slot.empty()) overrides.push_back("faults.drop_gradient=" + a.drop_slot);
  config::ExperimentResult loaded;
  loaded = config::load_experiment(a.config.file, overrides, config::Timeline::kIgnore);
  if (!loaded.ok()) {
    std::fputs(loaded.text().c_str(), stderr);
    return kBadConfig;
  }
  const auto& options = loaded.experiment->base;
  auto folder = train_swarm(*loaded.experiment);
  if (!folder) return fail(folder.error());
  std::printf("one process trains on the same samples ...\n");
  tensor::set_threads(options.threads);
  auto reference = train_alone(options);
  if (!reference) return fail(reference.error());
  auto snapshots = read_snapshots(*folder, options.num_stages, a.steps);
  if (!snapshots) return fail(snapshots.error());
  auto differences = compare_all(options, *snapshots, reference->parameters);
  if (!differences) return fail(differences.error());
  std::printf(
      "%u steps, %zu snapshots of %d stages; relative: L2 of the difference against the "
      "way from the initial weights\n",
      a.steps, snapshots->size(), options.num_stages);
  return judge(*differences, a.tolerance);
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("verify", "Compares a swarm's parameters with one process's");
  auto a = std::make_shared<Arguments>();
  add_config_arguments(*command, a->config);
  command->add_option("--steps", a->steps, "Optimizer steps")->check(CLI::Range(1, 1000000));
  command->add_option("--drop-slot", a->drop_slot,
                      "STEP:SLOT whose gradient the swarm loses on purpose");
  command->add_option("--tolerance", a->tolerance, "Largest relative difference of a tensor")
      ->check(CLI::Range(0.0, 1.0));
  command->callback([a, &exit_code] { exit_code = verify(*a); });
}

}  // namespace swarm::apps
