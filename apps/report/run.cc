#include "apps/report/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace swarm::report {
namespace {

bool plausible(double time_s) { return std::abs(time_s) <= records::kMostPlausible; }

}  // namespace

RunClock::RunClock(double zero_s, std::vector<double> times_s, const std::vector<double>& resumes_s)
    : zero_s_(zero_s) {
  std::sort(times_s.begin(), times_s.end());
  std::vector<double> sorted = resumes_s;
  std::sort(sorted.begin(), sorted.end());
  double removed_s = 0;
  for (const double end_s : sorted) {
    const auto at = std::lower_bound(times_s.begin(), times_s.end(), end_s);
    if (at == times_s.begin()) continue;
    removed_s += end_s - *std::prev(at);
    gaps_.push_back({end_s, removed_s});
  }
}

double RunClock::seconds(double unix_time_s) const {
  const auto next =
      std::upper_bound(gaps_.begin(), gaps_.end(), unix_time_s,
                       [](double time_s, const Gap& gap) { return time_s < gap.end_s; });
  const double removed_s = next == gaps_.begin() ? 0 : std::prev(next)->removed_s;
  return unix_time_s - zero_s_ - removed_s;
}

RunTotals totals(const Run& run) {
  RunTotals out;
  for (const auto& line : run.lines) {
    if (line.train_loss) {
      out.train_loss = line.train_loss;
      out.steps_closed = line.step + 1;
    }
    if (line.validation_loss) out.validation_loss = line.validation_loss;
    if (line.time_s) out.seconds = std::max(out.seconds, run.clock.seconds(*line.time_s));
    out.tokens = std::max(out.tokens, line.tokens);
    if (line.attempts > line.slots && line.slots > 0) out.retries += line.attempts - line.slots;
  }
  out.tokens_per_s = run.rate.tokens_per_second();
  for (const auto& event : run.events) {
    const auto lane = records::lane_of(event);
    out.kills += lane == Lane::kKill;
    out.pauses += lane == Lane::kPause;
  }
  auto count = [&](const records::EventInfo& event) {
    const auto found = run.event_counts.find(event.name);
    return found == run.event_counts.end() ? uint64_t{0} : found->second;
  };
  out.crashes = count(records::ProcessLost::kInfo);
  out.recoveries = count(records::Recovered::kInfo) + count(records::Restored::kInfo);
  out.coordinators = count(records::CoordinatorActive::kInfo);
  return out;
}

void RunBuilder::take_metrics(const std::string& line) {
  auto parsed = records::parse_metrics(line);
  if (!parsed) {
    ++damaged_metrics_;
    return;
  }
  not_finite_ += !parsed->train_loss && parsed->slots > 0;
  if (parsed->time_s) times_s_.push_back(*parsed->time_s);
  run_.staleness.add(*parsed);
  for (auto& stage : parsed->staleness)
    if (stage) std::vector<uint64_t>().swap(stage->histogram);
  run_.lines.push_back(std::move(*parsed));
}

void RunBuilder::take_event(const std::string& line) {
  auto event = records::parse_event(line);
  if (!event || !plausible(event->time_s)) {
    ++damaged_events_;
    return;
  }
  ++run_.event_counts[event->name];
  times_s_.push_back(event->time_s);
  if (event->is<records::RunResumed>()) resumes_s_.push_back(event->time_s);
  if (records::lane_of(*event)) run_.events.push_back(std::move(*event));
}

void RunBuilder::take_settings(const config::Experiment& experiment) {
  for (auto& setting : config::settings_of(experiment))
    run_.settings[setting.path] = std::move(setting.value);
}

void RunBuilder::sort_lines() {
  auto& lines = run_.lines;
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  const size_t before = lines.size();
  lines.erase(std::unique(lines.begin(), lines.end(),
                          [](const auto& a, const auto& b) { return a.step == b.step; }),
              lines.end());
  if (lines.size() != before)
    note(fmt::format("{} lines of metrics.jsonl repeat a step: the first of each counts",
                     before - lines.size()));
}

void RunBuilder::set_clock() {
  double zero_s = times_s_.empty() ? 0 : *std::min_element(times_s_.begin(), times_s_.end());
  for (const auto& line : run_.lines) {
    if (!line.time_s) continue;
    zero_s = *line.time_s - line.seconds;
    break;
  }
  run_.clock = RunClock(zero_s, std::move(times_s_), resumes_s_);
  if (run_.clock.idle_s() > 0)
    note(fmt::format("the clock leaves out {} s in which no `swarm run` worked in the folder",
                     static_cast<int64_t>(run_.clock.idle_s())));
}

Run RunBuilder::finish() {
  sort_lines();
  std::stable_sort(run_.events.begin(), run_.events.end(),
                   [](const auto& a, const auto& b) { return a.time_s < b.time_s; });
  for (const auto& line : run_.lines)
    if (line.train_loss && line.time_s) run_.rate.closed(*line.time_s, line.tokens);
  for (const double time_s : resumes_s_) run_.rate.resumed(time_s);
  set_clock();
  if (damaged_metrics_ > 0)
    note(fmt::format("{} lines of metrics.jsonl cannot be read: left out", damaged_metrics_));
  if (damaged_events_ > 0)
    note(fmt::format("{} lines of events.jsonl cannot be read: left out", damaged_events_));
  if (not_finite_ > 0)
    note(fmt::format("{} steps have no finite training loss: gaps in the curves", not_finite_));
  if (run_.lines.empty()) note("no step was closed yet");
  if (run_.status.empty()) run_.status = "not finished";
  return std::move(run_);
}

}  // namespace swarm::report
