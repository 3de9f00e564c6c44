/// How long each kind of fault kept a run from closing steps. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace swarm::launch {

struct Fault {
  double time_s = 0;  ///< Unix time.
  std::string kind;   ///< "kill", "stop", "pause", "cut" or "full_disk".
};

struct FaultCost {
  std::string kind;
  size_t faults = 0;
  double median_s = 0;  ///< Lost per fault.
  double worst_s = 0;
};

/// A step that takes no longer than this times the median of all is an ordinary one.
constexpr double kOrdinary = 1.5;

/// By kind, in the alphabet's order. `closed_s`: when each step closed, in any order; less than two: no
/// costs.
///
/// What a step takes beyond the median step is lost, unless it is ordinary. It is charged to the last
/// fault before it was to close: so a fault that strikes while the swarm stands still is not charged for
/// the one before it, and one that nobody feels costs 0.
std::vector<FaultCost> fault_costs(std::vector<double> closed_s, std::vector<Fault> faults);

}  // namespace swarm::launch
