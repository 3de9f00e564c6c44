#include <fmt/format.h>

#include "apps/sim/simulation.h"
#include "tensor/core/codec.h"

namespace swarm::sim {

std::string explain(const SimulationReport& report, size_t tail) {
  std::string text = fmt::format("seed {}, faults {}", report.seed, to_string(report.profile));
  if (report.delayed_updates) text += ", --delayed-updates";
  if (report.asynchronous) text += ", --async";
  if (report.averaging != tensor::Codec::kNone)
    text += fmt::format(", --averaging {}", tensor::codec_info(report.averaging).name);
  if (report.max_faults < kMostFaults) text += fmt::format(", --max-faults {}", report.max_faults);
  text += fmt::format(": {} violated: {}\n", report.violation->invariant, report.violation->text);
  const size_t from = report.events.size() > tail ? report.events.size() - tail : 0;
  for (size_t i = 0; i < report.events.size(); ++i) {
    const auto& line = report.events[i];
    if (i >= from || line.find(" FAULT ") != std::string::npos ||
        line.find(" HEALED") != std::string::npos)
      text += "  " + line + "\n";
  }
  return text;
}

}  // namespace swarm::sim
