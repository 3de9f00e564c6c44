/// Any bytes as an experiment file: errors or an experiment that survives being written and read.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/experiment.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto first = swarm::config::parse_experiment(text, "fuzz.toml");
  if (!first.ok()) {
    if (first.errors.empty()) std::abort();
    return 0;
  }
  const std::string written = swarm::config::to_toml(*first.experiment);
  const auto second = swarm::config::parse_experiment(written, "written.toml");
  if (!second.ok() || swarm::config::to_toml(*second.experiment) != written) std::abort();
  return 0;
}
