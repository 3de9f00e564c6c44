// `swarm audit`: was every sample of a run counted exactly once?
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/audit/audit_run.h"
#include "apps/commands/commands.h"
#include "apps/launch/run_folder.h"

namespace swarm::apps {
namespace {

constexpr size_t kShown = 50;

struct Arguments {
  std::string folder;
  bool json = false;
};

int audit(const Arguments& a) {
  const auto experiment = launch::read_experiment_of(a.folder);
  if (!experiment) {
    std::fprintf(stderr, "swarm audit: %s\n", to_string(experiment.error()).c_str());
    return kBadConfig;
  }
  const auto report = launch::audit_run(a.folder, *experiment);
  if (!report) {
    std::fprintf(stderr, "swarm audit: %s\n", to_string(report.error()).c_str());
    return kBadConfig;
  }
  const std::string text =
      a.json ? launch::audit_json(*report) : launch::audit_text(*report, kShown);
  std::fputs(text.c_str(), stdout);
  return report->passed() ? 0 : 1;
}

}  // namespace

void add_audit(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("audit", "Checks that a run counted every sample of every step once");
  auto a = std::make_shared<Arguments>();
  command->add_option("RUN", a->folder, "Run folder; the run may still be going on")->required();
  command->add_flag("--json", a->json, "Prints the verdict and the numbers as JSON");
  command->callback([a, &exit_code] { exit_code = audit(*a); });
}

}  // namespace swarm::apps
