/// A step under way: its ledger and, for each stage, how far its averaging is. Plain state of the
/// schedules (routing/steps/schedule.h) with the questions that all of them ask.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/averaging/round_verdict.h"
#include "routing/membership/roster.h"
#include "routing/steps/history.h"
#include "routing/steps/orders.h"
#include "routing/steps/step_ledger.h"
#include "routing/time.h"

namespace swarm::routing {

/// The averaging of one stage.
struct StageRound {
  enum class At { kFilling, kAveraging, kAveraged };
  using Kind = MemberAnswer::Kind;

  At at = At::kFilling;
  Round round;
  std::map<PeerId, Kind> answers;  ///< Of all members.
  std::vector<Share> members;      ///< As told to them; for the audit.
  std::vector<Relay> relays;       ///< Likewise.
  std::vector<uint32_t> part_weights{};
  Time not_before{};  ///< The next try.
  /// It carries an update, or its step runs on: failure means recovery, not another try.
  bool overlapped = false;
  /// What a member says of its average.
  struct Average {
    uint64_t digest = 0;
    double squared_norm = 0;
  };
  std::map<PeerId, Average> averages;   ///< Of those that have one.
  std::map<PeerId, BroughtIn> brought;  ///< Of those of them that told.
  std::map<PeerId, PeerId> not_finite;  ///< Whose numbers were not, and who said so first.
  std::set<PeerId>
      missed;  ///< Members of whom others say that nothing came, though their links live.
  std::optional<uint64_t> digest;  ///< Of the average, once all members have the same.
  /// A member gave up at its own deadline, and no link failed: others may have longer.
  bool late = false;
  /// Whose silence was excused by that: of the tries of this step. Once each.
  std::set<PeerId> excused;
  Time began{};
  std::optional<Time> first_failure;  ///< Or the last that began the grace again.
  int links_failed = 0;               ///< Failures that began it: a link has two ends.
  double squared_norm = 0;
  Time filling{};  ///< From the opening of its step until that was full.

  bool runs() const { return at == At::kAveraging; }
  bool any_answer() const;
  bool any_pending() const;
  /// It runs, and this member has not said that it has the average: the others need it.
  bool misses(const PeerId& id) const;
  bool all_averaged() const;
  std::vector<PeerId> ids() const;
  /// As in the list that they were told.
  std::vector<PeerId> in_order() const;
  /// Those that hold the average.
  std::vector<PeerId> averaged() const;
  /// Takes a member's answer to CloseStep.
  void take(const PeerId& member, const Result<CloseAnswer>& answer, Time now);
  /// Averages that are not the same in all members are given up: committed, replicas would differ
  /// (invariant I2). So is one whose norm is not finite: with nobody to blame all that were summed are.
  RoundVerdict judge(Time now);

 private:
  /// For the others, after a failure.
  Time grace() const;
  /// Deadlines are the members' own. Nobody says that nothing came from it, so it may just have longer.
  bool excuses(const PeerId& id) const;
  RoundVerdict compare_averages();
  void blame(const PeerId& by, const std::vector<uint32_t>& places);
  /// A member says that its link to this one failed, which then may not know that the round has: it is not
  /// at fault for its silence. If it is dead its link to the coordinator tells. Who is late is not excused.
  void excuse(size_t place);
};

struct OpenStep {
  Step step;
  Step computed_on;  ///< Updates in the parameters that serve it.
  std::unique_ptr<StepLedger> ledger;
  std::vector<StageRound> stages;
  Time opened_at{}, closed_at{};
  std::optional<Time> full_at;

  bool all_averaged() const;
  /// The gradient's norm over all stages.
  double gradient_norm() const;
  /// The open step as this peer knows it.
  void rebuild(const PeerId& id, const PeerFacts& peer);
  /// A peer enters the step. True if what it holds of it counts.
  bool enter(const PeerId& id, const PeerFacts& peer);
  /// A holder that does not serve: nobody could tell it what counts.
  std::optional<PeerId> unreachable_holder(Stage stage, const Roster& roster) const;
  /// What each of these brings into the round of a stage.
  std::vector<Share> shares(Stage stage, const std::vector<PeerId>& members,
                            const Roster& roster) const;
  orders::WriteAudit audit() const;
  /// The update that it makes.
  CommitFacts facts(uint64_t configuration) const;
};

}  // namespace swarm::routing
