/// A line of metrics.jsonl: one closed step, as its coordinator saw it (docs/run_folder.md). Pure.
///
/// A new metric is a member here, its line in fields(), the line that measures it in the
/// coordinator, and, to be drawn, exported and sent to TensorBoard, a row of metric_columns().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/fields.h"

namespace swarm::records {

/// Numbers beyond this are taken for damage: they fit neither a chart nor an integer.
constexpr double kMostPlausible = 1e15;

/// How old gradients were when they were applied: updates that the peer had made since the forward
/// pass. Of one stage, over the updates that a line covers.
struct StageStaleness {
  std::vector<uint64_t>
      histogram;     ///< Entry k: updates with a staleness of k; the 64th: more, too.
  double mean = 0;   ///< [updates]
  uint64_t max = 0;  ///< [updates]

  template <class Visitor>
  void fields(Visitor& v) {
    v("mean", mean, "[updates]");
    v("max", max, "[updates]");
    v("histogram", histogram, "entry k counts the updates with a staleness of k");
  }
};

/// Bytes by class of traffic, in the order of net's TrafficClass.
struct TrafficBytes {
  uint64_t control = 0, gradients = 0, activations = 0, state = 0;

  uint64_t& operator[](size_t i);  ///< Requires i < 4.
  template <class Visitor>
  void fields(Visitor& v) {
    v("control", control);
    v("gradients", gradients);
    v("activations", activations);
    v("state", state);
  }
};

/// A peer that joins while the others train (docs/averaging.md, "Learners").
struct LearnerProgress {
  std::string node;
  uint32_t stage = 0;
  uint64_t learned_bytes = 0, state_bytes = 0;
  double needs_bytes_per_s = 0, has_bytes_per_s = 0;  ///< 0: not known yet.

  template <class Visitor>
  void fields(Visitor& v) {
    v("node", node, "its node's name");
    v("stage", stage, "of which it learns the state");
    v("learned_bytes", learned_bytes, "that it has");
    v("state_bytes", state_bytes, "of the whole state");
    v("needs_bytes_per_s", needs_bytes_per_s, "what the others' updates take");
    v("has_bytes_per_s", has_bytes_per_s, "what its links bring");
  }
};

struct StepMetrics {
  uint64_t step = 0;
  std::optional<double> time_s{};      ///< Unix time of the closing; the log fills it in.
  std::optional<double> train_loss{};  ///< [nats per token], mean over the step's samples.
  uint64_t tokens = 0;                 ///< Trained so far in the run.
  /// See TokenRate: the only definition of a step's rate.
  std::optional<double> tokens_per_second{};
  double seconds = 0;                 ///< From its opening (asynchronous: the closing of the one
                                      ///< before) to its closing.
  std::vector<int64_t> live_peers{};  ///< Serving peers of each stage.
  TrafficBytes bytes_sent{};          ///< By all nodes, as reported since the line before.
  std::optional<double> validation_loss{};  ///< [nats per token]
  std::optional<double> gradient_norm{};    ///< Of the whole model, before clipping.
  uint32_t slots = 0;
  uint32_t attempts = 0;
  uint64_t term = 0;  ///< Of the coordinator.
  /// Asynchronous mode: of each stage; nothing for one that made no update.
  std::vector<std::optional<StageStaleness>> staleness{};
  std::vector<LearnerProgress> learners{};  ///< Peers that are joining.

  template <class Visitor>
  void fields(Visitor& v) {
    v("step", step, "number of the step, from 0");
    v("time", time_s, "unix time at which it closed [s]");
    v("train_loss", train_loss, "mean over the step's samples [nats per token]");
    v("tokens", tokens, "trained so far in the run");
    v("tokens_per_second", tokens_per_second,
      "of this step; asynchronous mode: of the periods that "
      "were open together");
    v("seconds", seconds, "from the opening to the closing of the step [s]");
    v("live_peers", live_peers, "serving peers of each stage, first stage first");
    v("bytes_sent", bytes_sent, "as reported since the line before, by class of traffic");
    v("validation_loss", validation_loss, "only when measured [nats per token]");
    v("gradient_norm", gradient_norm, "of the whole model, before clipping");
    v("slots", slots, "microbatches of the step");
    v("attempts", attempts, "tries that they took");
    v("term", term, "of the coordinator; rises with every takeover");
    v("staleness", staleness, "asynchronous mode: of each stage, how old gradients were");
    v("learners", learners, "peers that are joining");
  }
};

/// What was not measured is null.
std::string to_json(const StepMetrics& line);
/// Nothing for what is not an object with a `step`. Members that are missing or not of their type
/// keep their defaults; numbers beyond kMostPlausible count as missing.
std::optional<StepMetrics> parse_metrics(const std::string& line);

/// A number of a step for charts, tables of numbers and TensorBoard.
struct MetricColumn {
  const char* key;    ///< Column of the CSV file.
  const char* tag;    ///< In TensorBoard.
  const char* title;  ///< Of its chart.
  const char* unit;   ///< Of the chart's axis.
  bool by_step;       ///< It is drawn over the steps ...
  bool by_time;       ///< ... and over the seconds.
  bool from_zero;     ///< The chart's axis begins at 0.
  std::optional<double> (*value)(const StepMetrics&);
};
const std::vector<MetricColumn>& metric_columns();

/// Of several lines, runs or both together.
struct StalenessTotals {
  /// Updates by stage and staleness: entry [stage][k] counts those with a staleness of k.
  std::vector<std::vector<uint64_t>> stages;
  double sum = 0;        ///< Of all updates' staleness.
  uint64_t updates = 0;  ///< Of all stages.

  void add(const StepMetrics& line);
  void add(const StalenessTotals& other);
  std::optional<double> mean() const;  ///< Nothing without updates.

 private:
  /// Returns how many there are.
  uint64_t add(size_t stage, const std::vector<uint64_t>& histogram);
};

}  // namespace swarm::records
