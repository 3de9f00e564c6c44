/// Many simulated runs, one seed after the other, in as many processes as wanted: an actor system is
/// deterministic in a process of its own, and a run that crashes takes no other with it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/sim/simulation.h"

namespace swarm::sim {

/// What is kept of one run.
struct RunLine {
  uint64_t seed = 0;
  bool violated = false, crashed = false;
  bool lost_stage = false;  ///< No violation: SimulationReport::lost_stage.
  uint64_t faults = 0, recoveries = 0, moves = 0, given_up = 0;
  double virtual_s = 0;
  /// Virtual seconds that a fault has cost, a mean: by how much later the last step was done than in
  /// the same run without faults. NAN: there was no fault, or one of the runs did not end.
  double lost_s = 0;
};

/// What a run says for people goes to `text`.
using RunOne = std::function<RunLine(uint64_t seed, std::string& text)>;

/// Runs the seeds from `from` to `to`; `done` is called for each, in their order. With one job all in
/// this process; else this process must have no other thread.
void run_seeds(uint64_t from, uint64_t to, uint32_t jobs, const RunOne& run,
               const std::function<void(const RunLine&, const std::string& text)>& done);

/// RunLine::lost_s of a run that gave this report.
double lost_per_fault(const SimulationOptions& options, const SimulationReport& report);

/// Sums over runs.
class RunsSummary {
 public:
  void add(const RunLine& line);
  uint64_t violations() const { return violations_; }
  /// "kills  runs 300, violations 0, ...".
  std::string text(const char* profile, double wall_s) const;

 private:
  uint64_t runs_ = 0, violations_ = 0, lost_stages_ = 0, faults_ = 0, recoveries_ = 0;
  uint64_t moves_ = 0, given_up_ = 0;
  double virtual_s_ = 0;
  std::vector<double> lost_s_;
  uint64_t worst_seed_ = 0;
  double worst_s_ = 0;
};

}  // namespace swarm::sim
