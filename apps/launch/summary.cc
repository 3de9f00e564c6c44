#include "apps/launch/summary.h"

#include <nlohmann/json.hpp>

namespace swarm::launch {

std::string summary_json(const config::Experiment& experiment, const RunState& state,
                         const RunReport& report, std::optional<double> bigram_loss) {
  nlohmann::ordered_json out;
  auto optional = [&](const char* key, const std::optional<double>& value) {
    out[key] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  out["status"] = to_string(report.outcome);
  if (!report.reason.empty()) out["reason"] = report.reason;
  out["name"] = experiment.run.name;
  out["run_id"] = experiment.base.run_id;
  out["fingerprint"] = experiment.base.config_fingerprint;
  out["steps"] = experiment.base.training.steps;
  out["steps_closed"] = state.steps_closed();
  optional("train_loss", state.train_loss());
  optional("validation_loss", state.validation_loss());
  optional("bigram_loss", bigram_loss);
  out["tokens"] = state.tokens();
  out["tokens_per_second"] = state.tokens_per_second();
  out["seconds"] = report.seconds;
  out["recoveries"] = state.recoveries();
  out["events"] = state.events();
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace swarm::launch
