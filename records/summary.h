/// summary.json: what became of a run (docs/run_folder.md). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "records/fields.h"

namespace swarm::records {

/// How a run ended.
enum class Outcome {
  kFinished,
  kNotDurable,  ///< Training is finished, but its end is not on a disk in every stage.
  kFailed,
  kInterrupted
};
const char* to_string(Outcome outcome);
std::optional<Outcome> parse_outcome(const std::string& text);

struct Summary {
  std::string status{};                 ///< An Outcome's name.
  std::optional<std::string> reason{};  ///< Why not finished.
  std::string name{}, run_id{}, fingerprint{};
  uint64_t steps = 0, steps_closed = 0;
  std::optional<double> train_loss{}, validation_loss{}, bigram_loss{};  ///< [nats per token]
  uint64_t tokens = 0;                                                   ///< Trained in all.
  std::optional<double> tokens_per_second{};                             ///< See RunRate.
  double seconds = 0;  ///< Of the last `swarm run`.
  uint64_t recoveries = 0;
  std::map<std::string, uint64_t> events{};  ///< How often each happened.

  template <class Visitor>
  void fields(Visitor& v) {
    v("status", status);
    v("reason", reason);
    v("name", name);
    v("run_id", run_id);
    v("fingerprint", fingerprint);
    v("steps", steps);
    v("steps_closed", steps_closed);
    v("train_loss", train_loss);
    v("validation_loss", validation_loss);
    v("bigram_loss", bigram_loss);
    v("tokens", tokens);
    v("tokens_per_second", tokens_per_second);
    v("seconds", seconds);
    v("recoveries", recoveries);
  }
};

/// What was not measured is null.
std::string to_json(const Summary& summary);
/// Nothing for what is not such an object; what is missing keeps its default.
std::optional<Summary> parse_summary(const std::string& text);

}  // namespace swarm::records
