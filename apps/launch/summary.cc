#include "apps/launch/summary.h"

#include "records/summary.h"

namespace swarm::launch {

std::string summary_json(const config::Experiment& experiment, const RunState& state,
                         const RunReport& report, std::optional<double> bigram_loss) {
  records::Summary out;
  out.status = to_string(report.outcome);
  if (!report.reason.empty()) out.reason = report.reason;
  out.name = experiment.run.name;
  out.run_id = experiment.base.run_id;
  out.fingerprint = experiment.base.config_fingerprint;
  out.steps = experiment.base.training.steps;
  out.steps_closed = state.steps_closed();
  out.train_loss = state.train_loss();
  out.validation_loss = state.validation_loss();
  out.bigram_loss = bigram_loss;
  out.tokens = state.tokens();
  out.tokens_per_second = state.tokens_per_second();
  out.seconds = report.seconds;
  out.recoveries = state.recoveries();
  out.events = state.events();
  return to_json(out);
}

}  // namespace swarm::launch
