#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/commands/commands.h"
#include "apps/commands/run_display.h"
#include "apps/launch/devices.h"
#include "apps/launch/launcher.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/summary.h"
#include "apps/launch/timeline.h"
#include "common/hex.h"
#include "common/numbers.h"
#include "records/files.h"
#include "records/kept_text.h"
#include "tensor/data/bigram.h"

namespace swarm::apps {
namespace {

struct Arguments {
  ConfigArguments config;
  std::string resume, restart, name;
  bool quiet = false;

  /// Of the run that is there.
  const std::string& folder() const { return resume.empty() ? restart : resume; }
};

int refuse(const std::string& why, int code) {
  std::fprintf(stderr, "swarm run: %s\n", why.c_str());
  return code;
}

/// Empty if there is one source of settings.
std::string check(const Arguments& a) {
  const int given = !a.config.file.empty() + !a.resume.empty() + !a.restart.empty();
  if (given != 1) return "expected FILE, --resume DIR or --restart DIR";
  if (a.folder().empty()) return "";
  if (const std::string run = launch::run_of_node(a.folder()); !run.empty())
    return a.folder() + " is the folder of one node of the run " + run + ": name the run's";
  const auto there = launch::check_run_folder(a.folder());
  return there ? "" : there.error().detail;
}

config::ExperimentResult load(const Arguments& a) {
  auto overrides = a.config.overrides;
  if (!a.name.empty()) overrides.push_back("run.name=" + a.name);
  return config::load_experiment(a.folder().empty() ? a.config.file : a.folder() + "/config.toml",
                                 overrides);
}

/// Empty if the run in the folder has learned from this text, or says of none.
std::string check_text(const std::string& folder, const std::string& path, uint64_t fingerprint) {
  for (const auto& [node, text] : records::read_kept_texts(folder))
    if (text.fingerprint != fingerprint)
      return "the run has learned from the text " + hex(text.fingerprint) + " (" + text.path +
             ", says nodes/" + node + "/text.json), data.train " + path + " is " +
             hex(fingerprint) + "; give it that text, or begin a new run";
  return {};
}

/// Writes changed keys back. Empty if the folder's snapshots fit the configuration.
std::string take_over(const std::string& folder, const config::Experiment& experiment) {
  const auto before = config::load_experiment(folder + "/config.toml");
  if (!before.ok()) return before.text();
  if (before.experiment->base.config_fingerprint != experiment.base.config_fingerprint)
    return "--set would change what the snapshots in " + folder +
           " were made with: " + config::changed_settings(*before.experiment, experiment);
  const auto written =
      records::write_atomically(folder + "/config.toml", config::to_toml(experiment));
  return written ? "" : to_string(written.error());
}

/// Empty if what the run left behind is out of the way. It may learn from another text now, and with
/// other settings.
std::string begin_anew(const std::string& folder, const config::Experiment& experiment) {
  // First: what stays there would be gone on from.
  if (const auto moved = launch::set_mirror_aside(experiment); !moved) return moved.error().detail;
  const auto aside = launch::set_history_aside(folder);
  if (!aside) return aside.error().detail;
  std::printf("begins anew at step 0; what was there lies in %s/\n", aside->c_str());
  const auto written =
      records::write_atomically(folder + "/config.toml", config::to_toml(experiment));
  return written ? "" : to_string(written.error());
}

/// At what the folder has of earlier runs: it is put aside, or goes on.
std::string look_back(const Arguments& a, const std::string& folder,
                      const config::Experiment& experiment) {
  if (!a.restart.empty()) return begin_anew(folder, experiment);
  return a.resume.empty() ? "" : launch::missing_databases(folder, experiment);
}

void print_result(const launch::RunReport& report, const launch::RunState& state,
                  const std::optional<double>& baseline, const std::string& folder) {
  const auto rate = state.tokens_per_second();
  std::printf("%s after %.0f s, %llu steps, %s tokens/s", to_string(report.outcome), report.seconds,
              static_cast<unsigned long long>(state.steps_closed()),
              rate ? fixed(*rate, 0).c_str() : "-");
  std::printf("%s%s\n", report.reason.empty() ? "" : ": ", report.reason.c_str());
  if (state.validation_loss())
    std::printf("validation loss  %.4f nats per byte\n", *state.validation_loss());
  if (baseline) std::printf("bigram baseline  %.4f nats per byte\n", *baseline);
  std::printf("files            %s/\n", folder.c_str());
  if (report.outcome != launch::Outcome::kFinished)
    std::printf("go on with       swarm run --resume %s\n", folder.c_str());
}

/// What a person should know before the processes start.
void print_notes(const config::Experiment& experiment) {
  auto notes = launch::weak_points(experiment);
  const auto& base = experiment.base;
  notes.push_back(launch::slow_precision(base.compute, base.device, cpu_instructions()));
  const int32_t cores = launch::cores_here();
  if (const int32_t threads = launch::crowded_threads(experiment, cores); threads > 0)
    notes.push_back(fmt::format("peers compute with {} threads on {} cores: fewer are quicker",
                                threads, cores));
  for (const std::string& note : notes)
    if (!note.empty()) std::printf("note: %s\n", note.c_str());
}

int run(const Arguments& a) {
  if (const std::string why = check(a); !why.empty()) return refuse(why, kBadConfig);
  auto loaded = load(a);
  if (!loaded.ok()) return refuse("the configuration has errors\n" + loaded.text(), kBadConfig);
  config::Experiment experiment = *loaded.experiment;
  if (experiment.nodes.empty())
    return refuse("the file lists no [[nodes]]; `swarm node` starts single ones", kBadConfig);
  const auto text = tensor::open_text_data(experiment.base.data, experiment.base.model.sequence);
  if (!text) return refuse(text.error().detail, kBadConfig);
  if (const auto there = launch::check_devices(experiment); !there)
    return refuse(there.error().detail,
                  there.code() == ErrorCode::kInvalidArgument ? kBadConfig : 1);
  std::string folder = a.folder();
  if (folder.empty()) {
    auto made = launch::make_run_folder(experiment);
    if (!made) return refuse(to_string(made.error()), 1);
    folder = *made;
  }
  if (auto locked = launch::lock_folder(folder); !locked)
    return refuse(to_string(locked.error()), 1);
  if (!a.resume.empty()) {
    std::string why =
        check_text(folder, experiment.base.data.train.front(), (*text)->fingerprint());
    if (why.empty()) why = take_over(folder, experiment);
    if (!why.empty()) return refuse(why, kBadConfig);
  }
  if (const std::string why = look_back(a, folder, experiment); !why.empty()) return refuse(why, 1);
  // Before the processes compete for the cores.
  const std::optional<double> baseline =
      tensor::bigram_loss(**text, experiment.base.training.validation_samples);
  RunDisplay display(a.quiet);
  launch::LaunchOptions options;
  options.folder = folder;
  options.resume = !a.resume.empty();
  options.on_progress = [&](const std::string& line) { display.progress(line); };
  options.on_event = [&](const records::Event& event) { display.event(event); };
  if (!a.quiet) std::printf("run folder %s/, %zu nodes\n", folder.c_str(), experiment.nodes.size());
  if (!a.quiet) print_notes(experiment);
  std::fflush(stdout);
  launch::Launcher launcher(experiment, options);
  const auto report = launcher.run();
  display.finish();
  const auto summary = launch::summary_json(experiment, launcher.state(), report, baseline);
  const auto written = records::write_atomically(folder + "/summary.json", summary);
  print_result(report, launcher.state(), baseline, folder);
  if (report.outcome == launch::Outcome::kInterrupted) return 130;
  return report.outcome == launch::Outcome::kFinished && written ? 0 : 1;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("run", "Runs all nodes of an experiment on this machine");
  auto a = std::make_shared<Arguments>();
  add_config_arguments(*command, a->config, /*file_required=*/false);
  command->add_option("--resume", a->resume,
                      "Goes on with the run in this folder and with its config.toml");
  command->add_option(
      "--restart", a->restart,
      "Begins the run in this folder anew at step 0, with its config.toml; what was "
      "there is moved to DIR/before-TIME/");
  command->add_option("--name", a->name, "Name of the run, as with --set run.name=NAME");
  command->add_flag("--quiet", a->quiet, "Prints how the run ended, not how it goes");
  command->callback([a, &exit_code] { exit_code = run(*a); });
}

}  // namespace swarm::apps
