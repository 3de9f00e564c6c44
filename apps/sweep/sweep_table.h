/// The results of a sweep: figures of a run from its run folder's files, a row per setting with
/// mean and spread over its seeds, and the table as text. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/sweep/sweep_file.h"

namespace swarm::sweep {

/// The figures of one run (docs/experiments.md). Missing: the run never got that far.
struct RunFigures {
  std::string status;  ///< As in summary.json; empty: there is none.
  std::string reason;
  std::optional<double> train_loss;       ///< Mean over the last kLastSteps steps.
  std::optional<double> validation_loss;  ///< The last one measured.
  std::optional<double> seconds;  ///< From the first step's opening to the last one's closing,
                                  ///< without the time between a stop and a resume.
  std::optional<double> tokens_per_second;
  std::optional<double> retries;        ///< Attempts beyond the first of each microbatch.
  std::optional<double> staleness;      ///< Asynchronous: mean over all updates of all stages.
  std::optional<double> round_seconds;  ///< Median time of an averaging round at a peer.
  std::optional<double> stall_seconds;  ///< Median time that a round kept a peer from training.
  double run_seconds = 0;               ///< The last `swarm run` in the folder, from start to end.
};
constexpr size_t kLastSteps = 10;

/// Lines that are damaged are left out.
RunFigures read_figures(const std::string& summary_json, const std::vector<std::string>& metrics,
                        const std::vector<std::string>& events);

/// Mean and sample standard deviation (n - 1; none for one value).
struct Spread {
  size_t count = 0;
  double mean = 0, deviation = 0;
};
std::optional<Spread> spread(const std::vector<double>& values);

struct Row {
  std::string setting;
  size_t runs = 0, finished = 0;
  /// Over the finished runs; in the order of column_names().
  std::vector<std::optional<Spread>> columns;
};
/// Names of the figures above, train_loss first.
const std::vector<std::string>& column_names();
/// The columns of one run, in the same order.
std::vector<std::optional<double>> columns_of(const RunFigures& run);

/// What is known of the cells, by name; others count as not run.
using Figures = std::map<std::string, RunFigures>;
/// A row per setting, in the order of the plan.
std::vector<Row> make_rows(const Plan& plan, const Figures& figures);

std::string to_markdown(const std::vector<Row>& rows);
/// A line per setting: setting, runs, finished, then mean and deviation of each column.
std::string to_csv(const std::vector<Row>& rows);
/// A line per run, with its settings.
std::string runs_csv(const Plan& plan, const Figures& figures);
/// Both, with full precision.
std::string to_json(const Plan& plan, const Figures& figures);

}  // namespace swarm::sweep
