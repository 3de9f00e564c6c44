#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/commands/commands.h"
#include "apps/sweep/sweeper.h"
#include "common/text_table.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string file, output;
  bool list = false, retry = false;
};

int refuse(const std::string& why, int code) {
  std::fprintf(stderr, "swarm sweep: %s\n", why.c_str());
  return code;
}

void list(const sweep::Plan& plan, const sweep::SweepState& state) {
  TextTable table({"run", "state", "settings"});
  for (const auto& cell : plan.cells) {
    const auto found = state.find(cell.name);
    std::string settings;
    for (const auto& one : cell.overrides) settings += (settings.empty() ? "" : " ") + one;
    table.add(
        {cell.name, found == state.end() ? "not run" : to_string(found->second.status), settings});
  }
  std::fputs(table.text().c_str(), stdout);
}

int finish(const sweep::Plan& plan, const sweep::SweepReport& report, const Arguments& a) {
  std::printf("\n%s\n", sweep::to_markdown(plan, report.rows).c_str());
  std::printf("%zu finished, %zu failed, %zu left\nfiles            %s/\n", report.finished,
              report.failed, report.left, a.output.c_str());
  if (report.left > 0)
    std::printf("go on with       swarm sweep %s --output %s\n", a.file.c_str(), a.output.c_str());
  if (report.failed > 0)
    std::printf("begin failed ones anew with --retry; their output is in %s/runs/RUN/output.txt\n",
                a.output.c_str());
  if (report.interrupted) return 130;
  return report.failed == 0 && report.left == 0 ? 0 : 1;
}

int run(Arguments a) {
  const auto loaded = sweep::load_plan(a.file);
  if (!loaded.ok()) return refuse("the sweep has errors\n" + loaded.text(), kBadConfig);
  if (a.output.empty()) a.output = "runs/sweeps/" + loaded.plan->name;
  sweep::SweepOptions options;
  options.folder = a.output;
  options.retry = a.retry;
  options.on_line = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  sweep::Sweeper sweeper(*loaded.plan, options);
  if (a.list) {
    const auto state = sweeper.look();
    if (!state) return refuse(to_string(state.error()), kBadConfig);
    list(*loaded.plan, *state);
    return 0;
  }
  const auto report = sweeper.run();
  if (!report)
    return refuse(to_string(report.error()),
                  report.code() == ErrorCode::kInvalidArgument ? kBadConfig : 1);
  return finish(*loaded.plan, *report, a);
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("sweep", "Runs an experiment with many settings and seeds, one by one");
  auto a = std::make_shared<Arguments>();
  command->add_option("FILE", a->file, "Sweep file with settings and seeds (docs/experiments.md)")
      ->required();
  command->add_option(
      "--output", a->output,
      "Folder of the runs and the table [runs/sweeps/NAME]; if it holds this sweep, "
      "the sweep goes on");
  command->add_flag("--list", a->list, "Prints the runs with their settings and starts none");
  command->add_flag("--retry", a->retry, "Begins runs that failed anew");
  command->callback([a, &exit_code] { exit_code = run(*a); });
}

}  // namespace swarm::apps
