/// What a report knows of one run, put together from the lines of its folder
/// (docs/run_folder.md). Pure; files are read by read_run.h. One owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "records/catalogue.h"
#include "records/metrics.h"
#include "records/token_rate.h"

namespace swarm::report {

using records::kLanes;
using records::Lane;

/// Seconds of a run's life: 0 when its first step was opened. The time between the death of one
/// `swarm run` and the `--resume` of the next is left out.
class RunClock {
 public:
  RunClock() = default;
  /// `times_s`: of everything that was recorded; `resumes_s`: of run_resumed events. Unix time.
  RunClock(double zero_s, std::vector<double> times_s, const std::vector<double>& resumes_s);
  double seconds(double unix_time_s) const;
  /// Left out in all [s].
  double idle_s() const { return gaps_.empty() ? 0 : gaps_.back().removed_s; }

 private:
  struct Gap {
    double end_s, removed_s;  ///< Removed from times at or after `end_s`, earlier gaps included.
  };
  double zero_s_ = 0;
  std::vector<Gap> gaps_;
};

struct Run {
  std::string folder;                       ///< As named on the command line.
  std::string name;                         ///< For people; unique in a report.
  std::string status;                       ///< A records::Outcome's name, or "not finished".
  std::vector<records::StepMetrics> lines;  ///< By step, each once; histograms moved to the totals.
  std::vector<records::Event> events;       ///< Those with a lane, by time.
  std::map<std::string, uint64_t> event_counts;  ///< Counts all events, drawn or not.
  records::StalenessTotals staleness;            ///< Over the whole run.
  std::map<std::string, std::string> settings;   ///< "model.layers" -> "4"; empty: unknown.
  std::vector<std::string> notes;                ///< What a reader of the report must know.
  RunClock clock;
  records::RunRate rate;
};

/// The table's numbers. Nothing where a run has none.
struct RunTotals {
  uint64_t steps_closed = 0;
  std::optional<double> train_loss, validation_loss;  ///< The last ones [nats per token].
  double seconds = 0;                                 ///< By the clock, until the last line.
  std::optional<double> tokens_per_s;                 ///< See records::RunRate.
  uint64_t tokens = 0;
  uint64_t kills = 0, pauses = 0, crashes = 0;  ///< crashes: process_lost
  uint64_t recoveries = 0;                      ///< `recovered` and `restored`
  uint64_t retries = 0;                         ///< Attempts beyond the first of each slot.
  uint64_t coordinators = 0;
};
RunTotals totals(const Run& run);

/// Takes the lines of a folder in any order.
class RunBuilder {
 public:
  void take_metrics(const std::string& line);
  void take_event(const std::string& line);
  void take_settings(const config::Experiment& experiment);
  void note(const std::string& text) { run_.notes.push_back(text); }
  void status(const std::string& text) { run_.status = text; }
  /// Sorts, leaves repeated steps out and sets the clock. Call once.
  Run finish();

 private:
  void sort_lines();
  void set_clock();

  Run run_;
  std::vector<double> times_s_, resumes_s_;
  uint64_t damaged_metrics_ = 0, damaged_events_ = 0, not_finite_ = 0;
};

}  // namespace swarm::report
