#include "apps/launch/merge_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "apps/launch/audit_merge.h"
#include "apps/launch/line_tail.h"
#include "apps/launch/run_state.h"
#include "apps/launch/summary.h"
#include "config/experiment.h"
#include "records/files.h"
#include "records/metrics.h"
#include "records/node_files.h"
#include "records/segments.h"
#include "records/zstd_file.h"

namespace swarm::launch {
namespace {

constexpr size_t kMaxAuditLine = size_t{64} << 20;

/// A line and when it was written.
using Timed = std::pair<double, std::string>;

/// Names of the folders in FOLDER/nodes that hold records.
std::vector<std::string> nodes_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/nodes", error))
    if (records::has_lines(entry.path() / "events.jsonl"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// What was kept of a node's file, or of a piece of it, that the node began anew.
std::vector<std::string> kept_of(const std::string& path) {
  const auto at = std::filesystem::path(path);
  const std::string file = at.filename().string();
  std::vector<std::string> kept;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(at.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    const size_t mark = name.find(records::kKeptMark);
    const std::string of = name.substr(0, mark);
    if (mark != name.npos && (of == file || records::segment_of(file, of)))
      kept.push_back(entry.path().string());
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

Status each_kept_line(const std::string& path, const LineTail::Take& take) {
  if (path.find(std::string(".zst") + records::kKeptMark) == path.npos)
    return LineTail(path, kMaxAuditLine).each(take);
  LineSplitter splitter(kMaxAuditLine);
  return records::decompress_file(path, 0, [&](const char* data, size_t size) {
    for (auto& line : splitter.feed(data, size)) take(std::move(line));
  });
}

/// Passes on the lines of a node's file; a line that stands in several files as often as in the one
/// that has it most. Says what of it cannot be read.
template <class Take>
Status each_line(const std::string& path, Take take) {
  AuditMerge passed;
  Status all_read;
  for (const auto& kept : kept_of(path)) {
    AuditMerge earlier = passed;
    const Status read = each_kept_line(kept, [&](std::string line) {
      const auto verdict = earlier.take(line);
      if (verdict == AuditMerge::Verdict::kMergedBefore) return;
      passed.remember(line);
      take(std::move(line), verdict);
    });
    if (!read) all_read = read;
  }
  const Status read = LineTail(path, kMaxAuditLine).each([&](std::string line) {
    const auto verdict = passed.take(line);
    if (verdict != AuditMerge::Verdict::kMergedBefore) take(std::move(line), verdict);
  });
  return read || read.code() == ErrorCode::kNotFound ? all_read : read;
}

class Merge {
 public:
  explicit Merge(std::string folder) : folder_(std::move(folder)), nodes_(nodes_in(folder_)) {}

  Result<MergedRun> run() {
    if (nodes_.empty())
      return Error{ErrorCode::kNotFound, "no node's records in " + folder_ + "/nodes"};
    if (auto chosen = choose_config(); !chosen) return chosen.error();
    state_.emplace(static_cast<uint32_t>(experiment_->base.num_stages),
                   experiment_->base.training.steps);
    for (const auto& step :
         {&Merge::merge_events, &Merge::merge_metrics, &Merge::merge_audit, &Merge::write_summary})
      if (auto done = (this->*step)(); !done) return done.error();
    for (const auto& node : experiment_->nodes) out_.nodes.push_back(node.name);
    out_.steps = experiment_->base.training.steps;
    out_.steps_closed = state_->steps_closed();
    out_.finished = state_->finished();
    return out_;
  }

 private:
  std::string of(const std::string& node, const char* file) const {
    return folder_ + "/nodes/" + node + "/" + file;
  }

  /// A trainer's, which says where the text is; else any node's. All must be of one run.
  Status choose_config() {
    std::string chosen, run_id;
    for (const auto& node : nodes_) {
      const auto text = records::read_file(of(node, "config.toml"));
      if (!text) continue;
      auto loaded = config::parse_experiment(*text, of(node, "config.toml"));
      if (!loaded.ok())
        return Error{ErrorCode::kInvalidArgument, "errors in a node's file\n" + loaded.text()};
      const std::string& id = loaded.experiment->run.id;
      if (!run_id.empty() && id != run_id)
        return Error{
            ErrorCode::kInvalidArgument,
            fmt::format("{}/nodes holds two runs, '{}' and (of {}) '{}': one folder for each",
                        folder_, run_id, node, id)};
      run_id = id;
      const auto* spec = loaded.experiment->find(node);
      const bool trains = spec != nullptr && spec->trainer;
      if (experiment_ && !trains) continue;
      experiment_ = std::move(*loaded.experiment);
      chosen = *text;
    }
    if (!experiment_)
      return Error{ErrorCode::kNotFound, "no node of " + folder_ + "/nodes has a config.toml"};
    return records::write_atomically(folder_ + "/config.toml", chosen);
  }

  /// The lines of a node's file; what cannot be read is noted.
  template <class Take>
  void each_line_of(const std::string& node, const char* file, Take take) {
    if (const auto read = each_line(of(node, file), take); !read)
      out_.notes.push_back(node + ": " + read.error().detail);
  }

  /// Whole lines of a file of all nodes, by time; `time_of` gives none for a damaged one.
  template <class TimeOf>
  std::vector<Timed> lines_by_time(const char* file, TimeOf time_of) {
    std::vector<Timed> lines;
    for (const auto& node : nodes_)
      each_line_of(node, file, [&](std::string line, AuditMerge::Verdict) {
        const std::optional<double> time_s = time_of(line);
        if (time_s)
          lines.emplace_back(*time_s, std::move(line));
        else
          out_.notes.push_back(fmt::format("{}: a damaged line of {} is left out", node, file));
      });
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Timed& a, const Timed& b) { return a.first < b.first; });
    return lines;
  }

  Status merge_events() {
    const auto lines = lines_by_time("events.jsonl", [](const std::string& line) {
      const auto event = records::parse_event(line);
      return event ? std::optional<double>(event->time_s) : std::nullopt;
    });
    return records::write_atomically(folder_ + "/events.jsonl", [&](std::ostream& to) {
      for (const auto& line : lines)
        if (state_->take_event(line.second)) to << line.second << '\n';
    });
  }

  Status merge_metrics() {
    const auto lines = lines_by_time("metrics.jsonl", [](const std::string& line) {
      const auto metrics = records::parse_metrics(line);
      return metrics ? std::optional<double>(metrics->time_s.value_or(0)) : std::nullopt;
    });
    if (!lines.empty()) report_.seconds = lines.back().first - lines.front().first;
    return records::write_atomically(folder_ + "/metrics.jsonl", [&](std::ostream& to) {
      for (const auto& line : lines)
        if (state_->take_metrics(line.second)) to << line.second << '\n';
    });
  }

  /// These grow with slots times stages, so they pass one by one.
  Status merge_audit() {
    return records::write_atomically(folder_ + "/audit.jsonl", [&](std::ostream& to) {
      for (const auto& node : nodes_)
        each_line_of(node, "audit.jsonl", [&](std::string line, AuditMerge::Verdict verdict) {
          if (verdict == AuditMerge::Verdict::kNew)
            to << line << '\n';
          else
            out_.notes.push_back(node + ": a damaged line of audit.jsonl is left out");
        });
    });
  }

  Status write_summary() {
    report_.outcome = Outcome::kInterrupted;
    report_.reason = "the records were collected before its end";
    if (state_->finished()) report_.reason = state_->not_durable();
    if (state_->finished())
      report_.outcome = report_.reason.empty() ? Outcome::kFinished : Outcome::kNotDurable;
    return records::write_atomically(
        folder_ + "/summary.json",
        summary_json(*experiment_, *state_, report_, std::nullopt) + "\n");
  }

  const std::string folder_;
  const std::vector<std::string> nodes_;
  std::optional<config::Experiment> experiment_;
  std::optional<RunState> state_;
  RunReport report_;
  MergedRun out_;
};

}  // namespace

Result<MergedRun> merge_records(const std::string& folder) { return Merge(folder).run(); }

}  // namespace swarm::launch
