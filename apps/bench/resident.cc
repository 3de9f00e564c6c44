#include "apps/bench/resident.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace swarm::apps {

double resident_mb(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      double kib = 0;
      status >> kib;
      return kib * 1024 / 1e6;
    }
  return 0;
}

}  // namespace swarm::apps
