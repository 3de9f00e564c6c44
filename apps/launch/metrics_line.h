/// A line of metrics.jsonl (docs/run_folder.md) as a struct. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::launch {

/// Numbers beyond this are taken for damage: they fit neither a chart nor an integer.
constexpr double kMostPlausible = 1e15;

/// How old gradients were when they were applied: updates that the peer had made since the forward
/// pass. Of one stage, over the updates that a metrics line covers.
struct StageStaleness {
  double mean = 0, max = 0;         ///< [updates]
  std::vector<uint64_t> histogram;  ///< Entry k: updates with a staleness of k.
};

struct MetricsLine {
  uint64_t step = 0;
  std::optional<double> time_s;           ///< Unix time.
  std::optional<double> train_loss;       ///< [nats per token]
  std::optional<double> validation_loss;  ///< [nats per token]
  uint64_t tokens = 0;                    ///< Trained so far.
  double tokens_per_s = 0;                ///< 0: not measured.
  double seconds = 0;                     ///< From the opening to the closing of the step.
  std::optional<double> gradient_norm;    ///< Nothing on lines that trained nothing.
  uint64_t slots = 0, attempts = 0;
  std::vector<int64_t> live_peers;                       ///< Of each stage; -1: not an integer.
  std::vector<std::optional<StageStaleness>> staleness;  ///< Of each stage; asynchronous mode only.
};

/// Of several lines, runs or both together.
struct StalenessTotals {
  /// Updates by stage and staleness: entry [stage][k] counts those with a staleness of k.
  std::vector<std::vector<uint64_t>> stages;
  double sum = 0;        ///< Of all updates' staleness.
  uint64_t updates = 0;  ///< Of all stages.

  void add(const MetricsLine& line);
  void add(const StalenessTotals& other);
  std::optional<double> mean() const;  ///< Nothing without updates.

 private:
  /// Returns how many there are.
  uint64_t add(size_t stage, const std::vector<uint64_t>& histogram);
};

/// Nothing for what is not an object with a `step`. Keys that are missing or not of their type
/// leave their member as it is; numbers that are not finite or beyond kMostPlausible count as
/// missing.
std::optional<MetricsLine> parse_metrics(const std::string& line);

}  // namespace swarm::launch
