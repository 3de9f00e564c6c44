#include "routing/wiring/occupancy.h"

#include <algorithm>
#include <cmath>

namespace swarm::routing {

namespace {
constexpr double kDay_s = 86'400;
}

const std::vector<std::string>& wiring_cost_names() {
  static const std::vector<std::string> names{"occupancy", "response", "compute", "random",
                                              "fixed"};
  return names;
}

double Occupancy::seconds() const {
  return std::max(std::max(compute_s, pair_s), std::max(uplink_s, downlink_s));
}

const char* Occupancy::slowest() const {
  const double most = seconds();
  if (most <= 0) return "";
  if (compute_s == most) return "compute";
  if (uplink_s == most) return "uplink";
  return downlink_s == most ? "downlink" : "pair";
}

Occupancy checked(Occupancy told) {
  for (double* part : {&told.compute_s, &told.uplink_s, &told.downlink_s, &told.pair_s})
    if (!std::isfinite(*part) || *part < 0 || *part > kDay_s) *part = 0;
  return told;
}

double seconds_at(uint64_t bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? static_cast<double>(bytes) / bytes_per_s : 0;
}

}  // namespace swarm::routing
