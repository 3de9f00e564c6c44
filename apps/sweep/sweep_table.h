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
  std::optional<double> retries;           ///< Attempts beyond the first of each microbatch.
  std::optional<double> staleness;         ///< Asynchronous: mean over all updates of all stages.
  std::optional<double> round_seconds;     ///< Median time of an averaging round at a peer.
  std::optional<double> stall_seconds;     ///< Median time that a round kept a peer from training.
  std::optional<double> bytes_per_token;   ///< Activations and their gradients, at all boundaries.
  std::optional<double> tokens_to_target;  ///< Trained when the validation loss reached it.
  double run_seconds = 0;  ///< The last `swarm run` in the folder, from start to end.
};
constexpr size_t kLastSteps = 10;

/// Lines that are damaged are left out. `target_loss` [nats per token] is Plan::target_loss.
RunFigures read_figures(const std::string& summary_json, const std::vector<std::string>& metrics,
                        const std::vector<std::string>& events,
                        std::optional<double> target_loss = {});

/// Mean and sample standard deviation (n - 1; none for one value).
struct Spread {
  size_t count = 0;
  double mean = 0, deviation = 0;
};
std::optional<Spread> spread(const std::vector<double>& values);

/// By how much the validation loss of a setting differs from its baseline's, of the seeds that both
/// have finished.
struct Paired {
  size_t seeds = 0;
  double mean = 0;
  std::optional<double> half_width;  ///< Of the 95 % interval of the mean (Student's t).
};
/// `differences` has one a seed; nothing for none.
std::optional<Paired> paired(const std::vector<double>& differences);

struct Row {
  std::string setting;
  size_t runs = 0, finished = 0;
  /// Over the finished runs; in the order of column_names().
  std::vector<std::optional<Spread>> columns;
  std::optional<Paired> difference;  ///< Against the baseline.
};
/// Names of the figures above, train_loss first.
const std::vector<std::string>& column_names();
/// The columns of one run, in the same order.
std::vector<std::optional<double>> columns_of(const RunFigures& run);

/// What is known of the cells, by name; others count as not run.
using Figures = std::map<std::string, RunFigures>;
/// A row per setting, in the order of the plan.
std::vector<Row> make_rows(const Plan& plan, const Figures& figures);

std::string to_markdown(const Plan& plan, const std::vector<Row>& rows);
/// A line per setting: setting, runs, finished, mean and deviation of each column, the difference.
std::string to_csv(const std::vector<Row>& rows);
/// A line per run, with its settings.
std::string runs_csv(const Plan& plan, const Figures& figures);
/// Both, with full precision.
std::string to_json(const Plan& plan, const Figures& figures);

}  // namespace swarm::sweep
