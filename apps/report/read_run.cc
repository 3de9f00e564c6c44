#include "apps/report/read_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "records/files.h"
#include "records/line_tail.h"
#include "records/segments.h"
#include "records/summary.h"

namespace swarm::report {
namespace {

constexpr size_t kMostSummaryBytes = 1u << 20;

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

/// Calls `take` for each complete line. What is left out becomes a note.
template <class F>
void read_lines(const std::string& folder, const std::string& name, RunBuilder& run, F take) {
  if (!records::has_lines(folder + "/" + name)) return run.note("there is no " + name);
  records::LineTail lines(folder + "/" + name);
  if (const auto read = lines.each(take); !read) run.note(read.error().detail);
  if (lines.dropped() > 0)
    run.note(fmt::format("{} lines of {} are longer than 1 MB: left out", lines.dropped(), name));
  if (lines.unfinished())
    run.note("the last line of " + name + " has no end (its writer is at it, or died): left out");
}

/// Of summary.json; empty if there is none or it says something else.
std::string read_status(const std::string& folder) {
  const std::string path = folder + "/summary.json";
  std::error_code error;
  if (!is_file(path) || std::filesystem::file_size(path, error) > kMostSummaryBytes || error)
    return {};
  const auto text = records::read_file(path);
  const auto summary = text ? records::parse_summary(*text) : std::nullopt;
  if (!summary) return {};
  return records::parse_outcome(summary->status) ? summary->status : std::string();
}

}  // namespace

Result<Run> read_run(const std::string& folder) {
  const bool has_config = is_file(folder + "/config.toml");
  if (!has_config && !records::has_lines(folder + "/metrics.jsonl"))
    return Error{ErrorCode::kNotFound,
                 folder + " is no run folder: it has neither config.toml nor metrics.jsonl"};
  RunBuilder builder;
  builder.status(read_status(folder));
  const auto loaded =
      has_config ? config::load_experiment(folder + "/config.toml") : config::ExperimentResult();
  if (loaded.ok())
    builder.take_settings(*loaded.experiment);
  else
    builder.note(has_config ? "config.toml cannot be read, so nothing is known of the settings: " +
                                  (loaded.errors.empty() ? "" : loaded.errors.front().text())
                            : "there is no config.toml");
  read_lines(folder, "metrics.jsonl", builder,
             [&](const std::string& line) { builder.take_metrics(line); });
  read_lines(folder, "events.jsonl", builder,
             [&](const std::string& line) { builder.take_event(line); });
  Run run = builder.finish();
  run.folder = folder;
  std::filesystem::path path(folder);
  if (path.filename().empty()) path = path.parent_path();
  run.name = path.parent_path().filename().string();
  run.name += (run.name.empty() ? "" : "/") + path.filename().string();
  return run;
}

}  // namespace swarm::report
