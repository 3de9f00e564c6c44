/// When the peers write snapshots (design Sec. 7): they keep the newest few, so one is asked for
/// only when the one before is durable in every stage, or was waited for long enough. Whatever they keep,
/// the newest that is durable everywhere is kept too: the run can be resumed from no other. At the end the last one is tried until every stage has it.
///
/// Pure: time is an argument. One owner: a Schedule.
#pragma once

#include <cstdint>
#include <optional>

#include "common/keep_step.h"
#include "common/strong_id.h"
#include "routing/membership/roster.h"
#include "routing/time.h"

namespace swarm::routing {

struct SavePolicyOptions {
  uint64_t every_steps = 0;  ///< 0: only at the end.
  uint64_t steps = 0;        ///< Of the run.
  /// A stage whose disks fail must not end all snapshots for ever.
  Time patience = std::chrono::seconds(120);
  /// So often the last snapshot is tried, at this distance.
  int final_tries = 5;
  Time final_pause = std::chrono::seconds(1);
};

class SavePolicy {
 public:
  explicit SavePolicy(const SavePolicyOptions& options) : options_(options) {}

  /// The swarm goes on to step `next`: whether the peers are to save it. If it is due and may not
  /// be yet, it is asked for with one of the next steps.
  bool decide(Step next, const Roster& roster, Time now);
  /// Somebody orders snapshots of whatever step the peers are at: begun, and all have answered. Another one meanwhile
  /// would have some peers prune what the others are about to make the newest of all stages. Returns the order's
  /// number; the end of an order that another has followed, or that was forgotten, is none.
  uint64_t order_begins(Time now);
  void order_ends(uint64_t order) {
    if (order == orders_) ordered_ = false;
  }
  /// The one before is durable in every stage, or was waited for long enough.
  bool may_save(const Roster& roster, Time now) const;
  /// Snapshots of this step were asked for.
  void asked(Step step, Time now);
  /// What was asked for may never come.
  void forget() {
    last_ = Step();
    ordered_ = false;
  }
  /// The newest step that is durable in every stage: no store may prune it. While a stage has nobody
  /// who serves, the last one that was.
  std::optional<KeepStep> keep(const Roster& roster) const;
  /// A peer has said what it has. Looked at ten times a second, however many peers there are.
  void look(const Roster& roster, Time now);
  /// What keep() said last.
  const std::optional<KeepStep>& known() const { return kept_; }
  /// The swarm goes on from `step`: what was durable later is of a history that was given up.
  void gone_back(Step step);

  /// The last snapshots could not be written. True if they are to be tried again, after
  /// options.final_pause; else the disks fail for good.
  bool try_again();
  /// The run's last step is over: counts the tries of the last snapshot anew.
  void begin_final() { tries_ = 1; }
  Time final_pause() const { return options_.final_pause; }

 private:
  SavePolicyOptions options_;
  Step last_;  ///< Asked for last; 0: none by this coordinator.
  bool overdue_ = false;
  bool ordered_ = false;  ///< By somebody, and not all have answered.
  uint64_t orders_ = 0;   ///< So far: the number of the last one.
  // What was said last, and how many words there were: each gets a number of its own.
  mutable std::optional<KeepStep> kept_;
  mutable uint64_t words_ = 0;
  std::optional<Time> looked_at_;
  Time last_at_{};
  int tries_ = 1;
};

}  // namespace swarm::routing
