// `swarm report`: one page, and numbers for other programs, from one or more runs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>

#include "apps/commands/commands.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/tensorboard.h"
#include "apps/report/csv.h"
#include "apps/report/page.h"
#include "apps/report/read_run.h"
#include "records/files.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::vector<std::string> folders;
  std::string output, csv;
  bool tensorboard = false;
};

int refuse(const std::string& why, int code) {
  std::fprintf(stderr, "swarm report: %s\n", why.c_str());
  return code;
}

/// Two folders can end in the same names.
void make_names_unique(std::vector<report::Run>& runs) {
  std::map<std::string, int> used;
  for (auto& run : runs)
    if (const int times = ++used[run.name]; times > 1) run.name += " #" + std::to_string(times);
}

Status write_csv(const std::string& path, const std::vector<report::Run>& runs,
                 const std::vector<report::Group>& groups) {
  return records::write_atomically(path, [&](std::ostream& stream) {
    report::write_csv(runs, groups, [&](const std::string& text) { stream << text; });
  });
}

Status write_tensorboard(const report::Run& run) {
  if (launch::has_tensorboard_file(run.folder)) {
    std::printf("tensorboard      %s/tensorboard/ has event files already: left as it is\n",
                run.folder.c_str());
    return {};
  }
  std::optional<double> begin_s;
  if (!run.lines.empty()) begin_s = run.lines.front().time_s;
  auto file = launch::TensorboardFile::create(run.folder, begin_s);
  if (!file) return file.error();
  for (const auto& line : run.lines)
    if (auto done = (*file)->append(line); !done) return done;
  std::printf("tensorboard      %s\n", (*file)->path().c_str());
  return {};
}

int make_report(const Arguments& a) {
  std::vector<report::Run> runs;
  for (const auto& folder : a.folders) {
    auto run = report::read_run(folder);
    if (!run) return refuse(to_string(run.error()), kBadConfig);
    for (const auto& note : run->notes)
      std::fprintf(stderr, "%s: %s\n", folder.c_str(), note.c_str());
    runs.push_back(std::move(*run));
  }
  make_names_unique(runs);
  const auto groups = report::group_runs(runs);
  if (!a.csv.empty()) {
    if (auto done = write_csv(a.csv, runs, groups); !done)
      return refuse(to_string(done.error()), 1);
    std::printf("csv              %s\n", a.csv.c_str());
  }
  if (a.tensorboard)
    for (const auto& run : runs)
      if (auto done = write_tensorboard(run); !done) return refuse(to_string(done.error()), 1);
  const bool only_others = a.output.empty() && (!a.csv.empty() || a.tensorboard);
  if (only_others) return 0;
  const std::string path = a.output.empty() ? "report.html" : a.output;
  const auto done = records::write_atomically(path, report::html_page(runs, groups));
  if (!done) return refuse(to_string(done.error()), 1);
  std::printf("report           %s (%zu runs, %zu experiments)\n", path.c_str(), runs.size(),
              groups.size());
  return 0;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("report", "Makes a page of charts and tables from one or more runs");
  auto a = std::make_shared<Arguments>();
  command->add_option("RUN", a->folders, "Run folders; the runs may still be going on")->required();
  command->add_option("--output", a->output,
                      "File of the page; report.html if neither --csv nor --tensorboard is given");
  command->add_option("--csv", a->csv, "File for every metrics line of every run");
  command->add_flag("--tensorboard", a->tensorboard,
                    "Writes event files for TensorBoard into run folders that have none");
  command->callback([a, &exit_code] { exit_code = make_report(*a); });
}

}  // namespace swarm::apps
