/// summary.json: what became of a run (docs/run_folder.md). Pure.
#pragma once

#include <optional>
#include <string>

#include "apps/launch/launcher.h"

namespace swarm::launch {

/// `bigram_loss` [nats per token]: the baseline on the same validation samples, if computed.
std::string summary_json(const config::Experiment& experiment, const RunState& state,
                         const RunReport& report, std::optional<double> bigram_loss);

}  // namespace swarm::launch
