// Of one run and over several: numbers from files. Their text is sweep_table.cc.
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

#include "apps/sweep/sweep_table.h"
#include "common/statistics.h"
#include "records/catalogue.h"
#include "records/metrics.h"
#include "records/summary.h"

namespace swarm::sweep {
namespace {

/// A metrics line that trained something.
struct StepLine {
  double time = 0, seconds = 0, loss = 0;
  uint64_t step = 0;
};

double seconds_of(records::Millis time) { return time.count() / 1000; }

std::optional<double> median_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional<double>(median(values));
}

/// What the events of averaging say (docs/events.md).
struct Rounds {
  struct Step {
    double longest = 0;       ///< Of the peers' rounds.
    double since_open = 0;    ///< When the last stage had its average.
    bool overlapped = false;  ///< With the next step: nobody waited.
  };
  std::vector<double> seconds, stalls;
  std::map<uint64_t, Step> synchronous;

  void add(const records::Event& event) {
    if (const auto member = event.as<records::MemberAveraged>()) {
      seconds.push_back(seconds_of(member->took));
      stalls.push_back(seconds_of(member->stalled));
    }
    const auto peer = event.as<records::Averaged>();
    if (peer) seconds.push_back(seconds_of(peer->took));
    const auto stage = event.as<records::StageAveraged>();
    if (event.step < 0 || (!peer && !stage)) return;
    Step& of = synchronous[static_cast<uint64_t>(event.step)];
    if (peer) of.longest = std::max(of.longest, seconds_of(peer->took));
    if (!stage) return;
    of.overlapped |= stage->overlapped;
    of.since_open = std::max(of.since_open, seconds_of(stage->since_open));
  }

  /// Synchronous: nobody trains from the start of the last round until the step closes.
  void stalls_of(const std::vector<StepLine>& steps) {
    for (const StepLine& line : steps) {
      const auto found = synchronous.find(line.step);
      if (found == synchronous.end() || found->second.since_open == 0) continue;
      if (found->second.overlapped) continue;
      const double drained = found->second.since_open - found->second.longest;
      if (line.seconds > drained) stalls.push_back(line.seconds - drained);
    }
  }
};

struct EventFigures {
  Rounds rounds;
  std::vector<double> resumed;  ///< Times of `run_resumed`.
};

EventFigures read_events(const std::vector<std::string>& events) {
  EventFigures out;
  for (const auto& line : events) {
    const auto event = records::parse_event(line);
    if (!event) continue;
    out.rounds.add(*event);
    if (event->is<records::RunResumed>()) out.resumed.push_back(event->time_s);
  }
  return out;
}

struct Validation {
  double tokens = 0;  ///< Trained before it.
  double loss = 0;
};

struct MetricsFigures {
  std::vector<StepLine> steps;  ///< Without the line of the final validation.
  double retries = 0;
  std::vector<Validation> validations;
  records::StalenessTotals staleness;
  double boundary_bytes = 0, tokens = 0;
};

MetricsFigures read_metrics(const std::vector<std::string>& lines) {
  MetricsFigures out;
  for (const auto& text : lines) {
    const auto line = records::parse_metrics(text);
    if (!line) continue;
    out.tokens = std::max(out.tokens, static_cast<double>(line->tokens));
    if (line->validation_loss) out.validations.push_back({out.tokens, *line->validation_loss});
    out.staleness.add(*line);  // the last updates are reported with the final validation
    if (!line->time_s || !line->train_loss) continue;
    out.boundary_bytes += static_cast<double>(line->bytes_sent.activations);
    out.steps.push_back({*line->time_s, line->seconds, *line->train_loss, line->step});
    if (line->attempts > line->slots)
      out.retries += static_cast<double>(line->attempts - line->slots);
  }
  return out;
}

/// Between two validations the loss is taken to fall evenly.
std::optional<double> tokens_until(const std::vector<Validation>& validations, double target) {
  for (size_t i = 0; i < validations.size(); ++i) {
    const Validation& now = validations[i];
    if (!(now.loss <= target)) continue;
    if (i == 0) return now.tokens;
    const Validation& before = validations[i - 1];
    return before.tokens +
           (now.tokens - before.tokens) * (before.loss - target) / (before.loss - now.loss);
  }
  return {};
}

/// A step that a resume lies before counts with its own time only.
double trained_seconds(const std::vector<StepLine>& steps, const std::vector<double>& resumed) {
  double sum = steps.front().seconds;
  for (size_t i = 1; i < steps.size(); ++i) {
    const double before = steps[i - 1].time, time = steps[i].time;
    const bool gap = std::any_of(resumed.begin(), resumed.end(),
                                 [&](double at) { return before < at && at <= time; });
    sum += gap ? steps[i].seconds : std::max(0.0, time - before);
  }
  return sum;
}

}  // namespace

RunFigures read_figures(const std::string& summary_json, const std::vector<std::string>& metrics,
                        const std::vector<std::string>& events, std::optional<double> target_loss) {
  RunFigures out;
  if (const auto summary = records::parse_summary(summary_json)) {
    out.status = summary->status;
    out.reason = summary->reason.value_or("");
    out.tokens_per_second = summary->tokens_per_second;
    out.run_seconds = summary->seconds;
  }
  const MetricsFigures measured = read_metrics(metrics);
  if (!measured.validations.empty()) out.validation_loss = measured.validations.back().loss;
  if (target_loss) out.tokens_to_target = tokens_until(measured.validations, *target_loss);
  const auto& steps = measured.steps;
  if (steps.empty()) return out;
  EventFigures seen = read_events(events);
  seen.rounds.stalls_of(steps);
  out.staleness = measured.staleness.mean();
  out.round_seconds = median_of(seen.rounds.seconds);
  out.stall_seconds = median_of(seen.rounds.stalls);
  out.retries = measured.retries;
  if (measured.tokens > 0) out.bytes_per_token = measured.boundary_bytes / measured.tokens;
  out.seconds = trained_seconds(steps, seen.resumed);
  const size_t last = std::min(kLastSteps, steps.size());
  double sum = 0;
  for (size_t i = steps.size() - last; i < steps.size(); ++i) sum += steps[i].loss;
  out.train_loss = sum / static_cast<double>(last);
  return out;
}

std::optional<Spread> spread(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  Spread out;
  out.count = values.size();
  for (const double value : values) out.mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return out;
}

std::optional<Paired> paired(const std::vector<double>& differences) {
  const auto of = spread(differences);
  if (!of) return {};
  Paired out{of->count, of->mean, {}};
  if (of->count < 2) return out;
  const auto count = static_cast<double>(of->count);
  const double t = boost::math::quantile(boost::math::students_t(count - 1), 0.975);
  out.half_width = t * of->deviation / std::sqrt(count);
  return out;
}

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = {
      "train_loss", "validation_loss", "seconds",       "tokens_per_second", "retries",
      "staleness",  "round_seconds",   "stall_seconds", "bytes_per_token",   "tokens_to_target"};
  return names;
}

std::vector<std::optional<double>> columns_of(const RunFigures& run) {
  return {run.train_loss,      run.validation_loss, run.seconds,       run.tokens_per_second,
          run.retries,         run.staleness,       run.round_seconds, run.stall_seconds,
          run.bytes_per_token, run.tokens_to_target};
}

std::vector<Row> make_rows(const Plan& plan, const Figures& figures) {
  std::vector<Row> rows;
  std::vector<std::vector<std::vector<double>>> values(plan.settings.size());
  std::vector<std::map<uint64_t, double>> losses(plan.settings.size());  // by seed
  for (const auto& setting : plan.settings) rows.push_back({setting.label, 0, 0, {}, {}});
  for (const auto& cell : plan.cells) {
    Row& row = rows[cell.setting];
    ++row.runs;
    const auto found = figures.find(cell.name);
    if (found == figures.end() || found->second.status != "finished") continue;
    ++row.finished;
    if (found->second.validation_loss)
      losses[cell.setting][cell.seed] = *found->second.validation_loss;
    const auto columns = columns_of(found->second);
    auto& mine = values[cell.setting];
    mine.resize(column_names().size());
    for (size_t i = 0; i < mine.size(); ++i)
      if (columns[i]) mine[i].push_back(*columns[i]);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    values[i].resize(column_names().size());
    for (const auto& column : values[i]) rows[i].columns.push_back(spread(column));
    const auto baseline = plan.settings[i].baseline;
    if (!baseline) continue;
    std::vector<double> differences;
    for (const auto& [seed, loss] : losses[i])
      if (const auto other = losses[*baseline].find(seed); other != losses[*baseline].end())
        differences.push_back(loss - other->second);
    rows[i].difference = paired(differences);
  }
  return rows;
}

}  // namespace swarm::sweep
