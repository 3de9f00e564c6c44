// `swarm verify`: a swarm's parameters against those of one LibTorch process on the same samples.
// Of an experiment it trains now, or of the folder of a run that ended (verify_run.h).
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "apps/audit/audit_run.h"
#include "apps/commands/commands.h"
#include "apps/commands/compute_arguments.h"
#include "apps/commands/run_display.h"
#include "apps/compute/compare_states.h"
#include "apps/compute/compute.h"
#include "apps/compute/train_alone.h"
#include "apps/compute/verify_run.h"
#include "apps/launch/launcher.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/summary.h"
#include "config/experiment.h"
#include "records/files.h"
#include "storage/run_snapshots.h"
#include "tensor/reference/one_process.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

/// Nothing was compared.
int fail(const Error& error) {
  std::fprintf(stderr, "swarm verify: %s\n", to_string(error).c_str());
  return kBadConfig;
}

int judge(const std::map<std::string, Difference>& differences, double tolerance) {
  std::printf("%-48s %12s %12s %12s\n", "tensor", "|difference|", "|measure|", "relative");
  int beyond = 0;
  double worst = 0;
  for (const auto& [name, difference] : differences) {
    const double relative = difference.relative();
    const bool bad = !(relative <= tolerance);
    beyond += bad;
    worst = std::max(worst, relative);
    std::printf("%-48s %12.3e %12.3e %12.3e%s\n", name.c_str(), difference.away, difference.scale,
                relative, bad ? "  BEYOND" : "");
  }
  const Verdict verdict = verdict_of(beyond > 0, /*wrong=*/false, /*judged=*/true);
  std::printf("%zu tensors, worst relative difference %.3e, tolerance %.3e: %s\n",
              differences.size(), worst, tolerance, verdict.word);
  return verdict.exit_code;
}

VerifyRunOptions run_options(const VerifyArguments& a, const std::string& folder) {
  VerifyRunOptions options;
  options.folder = folder;
  options.tolerance = a.tolerance;
  options.tolerance_given = a.tolerance_given;
  options.from_start = a.from_start;
  options.threads = a.threads;
  return options;
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
  auto written = records::write_atomically(
      *folder + "/summary.json",
      launch::summary_json(experiment, launcher.state(), report, std::nullopt));
  if (!written) return written.error();
  if (report.outcome != launch::Outcome::kFinished)
    return Error{ErrorCode::kInternal,
                 "the swarm did not finish: " + report.reason + " (" + *folder + ")"};
  return folder;
}

int verify_file(const VerifyArguments& a) {
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
  if (auto exact = launch::can_be_exact(*loaded.experiment); !exact) return fail(exact.error());
  auto folder = train_swarm(*loaded.experiment);
  if (!folder) return fail(folder.error());
  if (!actors::what_rounds(options).empty()) return verify_run(run_options(a, *folder));
  std::printf("one process trains on the same samples ...\n");
  tensor::set_threads(options.threads);
  auto data = tensor::open_text_data(options.data, options.model.sequence);
  if (!data) return fail(data.error());
  auto audit = launch::audit_run(*folder, *loaded.experiment);
  if (!audit) return fail(audit.error());
  const auto schedule = reference_options(options, audit->recorded);
  if (options.training.delayed_updates)  // where the pipeline ran dry only the record can tell
    std::printf("%zu of %u steps were computed one update behind\n", schedule.computed_on.size(),
                a.steps);
  auto trainer = tensor::ReferenceTrainer::make(schedule, **data);
  if (!trainer) return fail(trainer.error());
  auto reference = (*trainer)->train_until(a.steps);
  if (!reference) return fail(reference.error());
  auto snapshots = storage::read_snapshots(*folder, options.num_stages, a.steps);
  if (!snapshots) return fail(snapshots.error());
  auto differences = compare_states(options.model, options.num_stages, snapshots->found,
                                    (*trainer)->state(), initial_parameters(schedule.model));
  if (!differences) return fail(differences.error());
  std::printf(
      "%u steps, %zu snapshots of %d stages; relative: L2 of the difference against the way from "
      "the initial weights, of moments against their size\n",
      a.steps, snapshots->found.size(), options.num_stages);
  return judge(*differences, a.tolerance);
}

}  // namespace

int verify(const VerifyArguments& a) {
  std::error_code error;
  if (!std::filesystem::is_directory(a.config.file, error)) return verify_file(a);
  if (!a.config.overrides.empty() || !a.drop_slot.empty() || a.steps_given) {
    std::fprintf(stderr, "swarm verify: --set, --steps and --drop-slot are for a FILE\n");
    return kBadConfig;
  }
  return verify_run(run_options(a, a.config.file));
}

}  // namespace swarm::apps
