/// The invariants of the protocol, checked from outside while a simulated swarm runs. StepChecks or
/// PeriodChecks knows what is right in a mode; in both:
///
///   I2  replicas of a stage have the same checksum at the end
///   I4  an acknowledged snapshot is still there, whole, when its node comes back
///   I5  the microbatches that a peer keeps and the requests under way are bounded
///   I9  every request is answered by its deadline, every failure has a reason
///   floor  (FloorChecks)
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "apps/sim/floor_checks.h"
#include "apps/sim/mode_checks.h"
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
  explicit Checks(Swarm& swarm);
  /// Training is asynchronous. To be called before anything happens.
  void use_periods();

  /// A peer that may be left behind: it has no way to those who would have to help it on.
  void excuse(const std::string& node) { excused_.insert(node); }

  /// The first violation found.
  const std::optional<Violation>& violation() const { return violation_; }
  void report(const std::string& invariant, const std::string& text);

  /// What only the mode looks at.
  ModeChecks& mode() { return *mode_; }
  void event(const std::string& node, const records::Event& event);
  /// As SwarmObserver says.
  void moved(const std::string& node, int from);
  void snapshot(const std::string& node, const std::string& stream, uint64_t step, bool dropped);

  /// What was on the node's disk is not there any more, or is older: through no fault of its own.
  /// What it had is gone for good, and maybe the last step that every stage had.
  void disk_lost(const std::string& node) {
    durable_.erase(node);
    if (resumable_) outdated_ = resumable_;
    resumable_.reset();
  }
  /// A node that was down is about to start: its disk is as the crash left it.
  void before_start(const std::string& node);
  /// At any moment between two pieces of mail.
  void now();
  /// A while after the end: nothing is kept, every peer is at the last step.
  std::string unsettled() const;
  /// When all is settled: equal replicas, and what `swarm audit` would say.
  void at_end();

 private:
  ModeChecks::Report reporter();
  bool was_left_behind(const std::string& name) const;
  /// The newest step that lies on some disk of every stage.
  std::optional<uint64_t> newest_common() const;

  Swarm& swarm_;
  std::unique_ptr<ModeChecks> mode_;
  FloorChecks floors_;
  std::optional<Violation> violation_;
  std::set<std::string> excused_;
  bool periods_ = false;               ///< Stages go on from steps of their own.
  std::optional<uint64_t> resumable_;  ///< As newest_common() last, if all went well.
  /// A disk was lost: up to here orders to prune may be on their way that nobody can call back.
  std::optional<uint64_t> outdated_;
  void forget_pushed_out(std::set<uint64_t>& steps, const DiskStore& store,
                         const std::string& stream) const;

  std::map<std::string, std::map<std::string, std::set<uint64_t>>> durable_;  ///< node, stream
};

}  // namespace swarm::sim
