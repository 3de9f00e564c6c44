/// The invariants of the protocol, checked from outside while a simulated swarm runs.
///
///   I1  every replica's parameters at each step are those of a run in which every sample counted
///       once per stage
///   I2  replicas of a stage have the same checksum after a round and at the end; only states that
///       replicas reached are loaded
///   I4  an acknowledged snapshot is still there, whole, when its node comes back
///   I5  the microbatches that a peer keeps and the requests under way are bounded
///   I7  no step is committed after a later one unless a recovery was logged
///   I9  every request is answered by its deadline, every failure has a reason
///
/// In asynchronous mode PeriodChecks has others in place of I1, I2 and I7.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/audit/audit.h"
#include "apps/sim/period_checks.h"
#include "apps/sim/swarm.h"

namespace swarm::sim {

struct Violation {
  std::string invariant;  ///< "I1", ..., "liveness"
  std::string text;
};

/// Handles of the observer call it from within actors; it only notes what it sees.
class Checks {
 public:
  /// `swarm` outlives this.
  explicit Checks(Swarm& swarm)
      : swarm_(swarm),
        periods_(swarm, [this](const std::string& invariant, const std::string& text) {
          report(invariant, text);
        }) {}

  /// The first violation found.
  const std::optional<Violation>& violation() const { return violation_; }
  void report(const std::string& invariant, const std::string& text);

  void parameters(const std::string& node, const ArithmeticStage& stage, const char* how);
  void noted(const std::string& node, const ArithmeticStage& stage, const StageNote& note);
  void event(const std::string& node, const records::Event& event);
  void closed(const std::string& node, const records::ClosedStep& step);
  void committed(const std::string& node, const records::CommittedStep& step);
  void loaded(const std::string& node, const records::LoadedState& state);
  void metrics(const records::StepMetrics& line);
  void snapshot(const std::string& node, const std::string& stream, uint64_t step, bool dropped);

  /// A node that was down is about to start: its disk is as the crash left it.
  void before_start(const std::string& node);
  /// At any moment between two pieces of mail.
  void now();
  /// A while after the end: nothing is kept, every peer is at the last step.
  std::string unsettled() const;
  /// When all is settled: equal replicas, and what `swarm audit` would say.
  void at_end();

 private:
  double time_s() const;
  const std::vector<float>& expected(uint32_t stage, uint64_t step);

  bool asynchronous() const { return swarm_.training.asynchronous(); }

  Swarm& swarm_;
  PeriodChecks periods_;
  std::optional<Violation> violation_;
  std::map<uint32_t, std::vector<std::vector<float>>> expected_;  ///< By stage, step.
  /// By (stage, step, round, digest): the checksum after it.
  std::map<std::tuple<uint32_t, uint64_t, uint64_t, uint64_t>, uint64_t> rounds_;
  std::map<std::pair<uint32_t, uint64_t>, std::set<uint64_t>> reached_;  ///< By (stage, step).
  launch::AuditLog audit_;
  launch::AuditContext context_;
  std::map<std::string, std::map<std::string, std::set<uint64_t>>> durable_;  ///< node, stream
  std::optional<uint64_t> last_committed_;
  uint64_t highest_term_ = 0;
};

}  // namespace swarm::sim
