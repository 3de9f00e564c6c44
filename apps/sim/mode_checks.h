/// What is right in one mode of training: StepChecks or PeriodChecks. Checks passes on what it
/// sees; what a mode does not override, it does not look at.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "apps/sim/swarm.h"
#include "records/audit.h"
#include "records/event.h"
#include "records/metrics.h"

namespace swarm::sim {

/// Virtual time, for lines of the audit.
inline double seconds_of(Swarm& swarm) {
  return std::chrono::duration<double>(swarm.system.now().time_since_epoch()).count();
}

/// Called from within actors; only notes what it sees.
class ModeChecks {
 public:
  using Report = std::function<void(const std::string& invariant, const std::string& text)>;
  virtual ~ModeChecks() = default;

  /// The parameters were initialized, loaded or updated: `how`.
  virtual void parameters(const std::string& node, const ArithmeticStage& stage,
                          const char* how) = 0;
  virtual void noted(const std::string&, const ArithmeticStage&, const StageNote&) {}
  virtual void event(const records::Event& event) = 0;
  virtual void closed(const std::string&, const records::ClosedStep&) {}
  virtual void committed(const std::string&, const records::CommittedStep&) {}
  virtual void loaded(const std::string& node, const records::LoadedState& state) = 0;
  virtual void metrics(const records::StepMetrics& line) = 0;
  /// A bit of the node's parameters or moments has turned.
  virtual void bit_turned(const std::string&) {}
  /// Replicas of the stage have to differ until one of them has fetched.
  virtual bool has_turned(int) const { return false; }
  /// What the node had in memory is gone.
  virtual void before_start(const std::string&) {}
  /// The swarm has settled. Peers `left_behind` may be anywhere.
  virtual void at_end(const std::set<std::string>& left_behind) = 0;
};

}  // namespace swarm::sim
