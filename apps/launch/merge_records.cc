#include "apps/launch/merge_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "apps/launch/line_counts.h"
#include "apps/launch/line_tail.h"
#include "apps/launch/run_state.h"
#include "apps/launch/summary.h"
#include "config/experiment.h"
#include "records/audit.h"
#include "records/files.h"
#include "records/metrics.h"
#include "records/node_files.h"
#include "records/segments.h"
#include "records/value.h"
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

Status each_kept_line(const std::string& path, const LineTail::Take& take) {
  if (path.find(std::string(".zst") + records::kKeptMark) == path.npos)
    return LineTail(path, kMaxAuditLine).each(take);
  LineSplitter splitter(kMaxAuditLine);
  return records::decompress_file(path, 0, [&](const char* data, size_t size) {
    for (auto& line : splitter.feed(data, size)) take(std::move(line));
  });
}

/// When it was written; of a line that stands for folded ones, the last of these.
double time_of(const std::string& line) {
  double time_s = 0;
  const auto audit = records::parse_audit_line(line);
  const auto* fold = audit ? std::get_if<records::FoldedAudit>(&audit->record) : nullptr;
  if (fold != nullptr) {
    for (const auto& writer : fold->writers) time_s = std::max(time_s, writer.time_s);
    return time_s;
  }
  const auto object = records::parse_object(line);
  const auto* value = object ? records::find(*object, "time") : nullptr;
  return value != nullptr ? value->number().value_or(0) : 0;
}

/// What was kept when a node began its file anew: of the file, of a piece of it, or what its oldest
/// pieces came to.
struct Kept {
  std::string path;
  double time_s = 0;  ///< Of its first line.
  LineCounts lines;   ///< That the node's file has not.
};

/// By time: lines of a life stand behind those of the one before.
std::vector<Kept> kept_of(const std::string& path) {
  const auto at = std::filesystem::path(path);
  const std::string file = at.filename().string();
  std::vector<Kept> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(at.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    const size_t mark = name.find(records::kKeptMark);
    const std::string of = name.substr(0, mark);
    if (mark == name.npos) continue;
    if (of == file || of == records::folded_name(file) || records::segment_of(file, of))
      all.push_back({entry.path().string(), 0, {}});
  }
  for (Kept& kept : all) {
    bool first = true;
    static_cast<void>(each_kept_line(kept.path, [&](const std::string& line) {
      if (std::exchange(first, false)) kept.time_s = time_of(line);
      kept.lines.add(line);
    }));
  }
  std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) {
    return std::tie(a.time_s, a.path) < std::tie(b.time_s, b.path);
  });
  if (!all.empty())
    static_cast<void>(LineTail(path, kMaxAuditLine).each([&](const std::string& line) {
      for (Kept& kept : all) kept.lines.remove(line);
    }));
  return all;
}

/// Passes on the lines of a node's file, behind those that were kept and are not in it; a line that stands
/// in several files as often as in the one that has it most. Says what of it cannot be read.
template <class Take>
Status each_line(const std::string& path, Take take) {
  LineCounts passed;
  Status all_read;
  for (Kept& kept : kept_of(path)) {
    LineCounts earlier = passed;
    const Status read = each_kept_line(kept.path, [&](std::string line) {
      if (!kept.lines.remove(line) || earlier.remove(line)) return;
      passed.add(line);
      take(std::move(line));
    });
    if (!read) all_read = read;
  }
  const Status read = LineTail(path, kMaxAuditLine).each(take);
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
      each_line_of(node, file, [&](std::string line) {
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
        each_line_of(node, "audit.jsonl", [&](const std::string& line) {
          if (records::parse_object(line))
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
