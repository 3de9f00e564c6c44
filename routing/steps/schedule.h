/// Which step is open, who computes what of it, and when it is closed: one Schedule for each mode of
/// training (design Sec. 5 and 9), chosen when the coordinator is made. Is told facts and the time,
/// answers with orders.
///
///     (gathering) -> open -> ... -> open -> finished (validation, then the last snapshots) -> over
///
/// Pure: time is an argument; no mail, no clock. One owner: the Coordinator, which carries out the
/// orders at once, in their order. Marks peers of the roster (serving, commit_pending).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/strong_id.h"
#include "routing/membership/admission.h"
#include "routing/membership/roster.h"
#include "routing/steps/frame.h"
#include "routing/steps/lease_desk.h"
#include "routing/steps/orders.h"
#include "routing/time.h"

namespace swarm::routing {

/// What a trainer says of an attempt.
struct SlotReport {
  enum class What {
    kCarried,    ///< `route`, `loss_sum` and `samples` say how.
    kFailed,     ///< `why`.
    kNonFinite,  ///< Something was not finite at `where`.
    kCarries,    ///< It is under way still: leased until `deadline_s`.
  };
  What what = What::kCarried;
  Step step;
  Slot slot;
  Attempt attempt;
  std::vector<LedgerHop> route{};
  double loss_sum = 0;
  uint32_t samples = 0;
  std::string why{};
  LedgerHop where{};
  double deadline_s = 0;
};

class Schedule {
 public:
  Schedule(const ScheduleOptions& options, Roster& roster) : frame_(options, roster) {}
  virtual ~Schedule() = default;
  // -- life
  /// The swarm is at `step`, of `history`: opens it with what peers hold of it.
  Orders open(Step step, History history, const Reign& reign, Time now);
  /// The swarm gathers, or this node coordinates no longer.
  virtual void close() { frame_.close(); }
  Orders tick(Time now);
  Orders resume(const orders::Later& later, Time now);
  /// What SaveAll came to.
  Orders saved(const Status& status, Time now);

  // -- slots
  /// Slots for a trainer, leased until `deadline_s`; none: nothing is to be done for now.
  virtual Leases lease(const ActorId& trainer, uint32_t max_slots, double deadline_s);
  /// Ends the leases of a trainer `but` these; how many.
  size_t trainer_lost(const ActorId& trainer, const CarriedSlots& but = {});
  /// Errors: kNotReady (the step is not open yet), kStaleStep (no longer), those of StepLedger.
  Result<Orders> slot_reported(const SlotReport& report, Time now);

  // -- peers
  /// What a peer that has registered is told. If the orders contain Gather, what a gathering says
  /// stands instead.
  Verdict admit(const PeerId& id, Orders& out, Time now);
  /// It is about to be taken out of the roster, and had not said that it leaves.
  Orders vanishes(const PeerId& id, Time now);
  /// It was taken out of the roster.
  Orders peer_lost(const PeerId& id, Stage stage, bool was_serving, Time now);
  virtual Orders close_answered(const RoundMember&, const Result<CloseAnswer>&, Time) { return {}; }
  virtual Orders period_answered(const RoundMember&, const Result<PeriodAnswer>&, Time) {
    return {};
  }
  virtual Orders commit_answered(const PeerId&, const Result<CommitAnswer>&, Time) { return {}; }

  // -- questions; answers are valid until the next call
  const Frame& frame() const { return frame_; }
  SavePolicy& saves() { return frame_.saves; }
  /// Updates that peers have.
  virtual Step applied() const { return frame_.open.step; }
  /// A round that is not yet forgotten, or null.
  virtual const StageRound* round(Stage stage, Round round) const;

 protected:
  /// Opens `step` after a gathering.
  virtual void begin(Step step) = 0;
  /// Does what has become possible. Requires that a step is open.
  virtual void advance() = 0;
  virtual void judge_rounds() {}
  /// A serving peer is gone; others serve its stage.
  virtual void member_lost(const PeerId& id, Stage stage) = 0;
  /// Rounds under way or done count a slot that was just skipped.
  virtual void slot_was_skipped() {}
  virtual Admission judge_admission(const PeerId& id) const = 0;
  /// A peer becomes a member. True if what it holds counts.
  virtual bool enter(const PeerId& id) = 0;
  /// What a peer says that it holds counts.
  virtual bool counts(const PeerId&) const { return true; }
  /// A Later of a round of weights is due.
  virtual void round_due(const orders::Later&) {}
  /// Those of all open steps, oldest first.
  virtual std::vector<StepLedger*> ledgers();

  void start(Time now);
  Orders done();

  Frame frame_;
};

}  // namespace swarm::routing
