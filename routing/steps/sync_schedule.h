/// Synchronous training: a step is closed when every stage holds all its slots, averaged, committed,
/// and the next one is opened (docs/training_protocol.md). Pure; see Schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/steps/schedule.h"

namespace swarm::routing {

class SyncSchedule : public Schedule {
 public:
  using Schedule::Schedule;

  Orders close_answered(const RoundMember& member, const Result<CloseAnswer>& answer,
                        Time now) override;
  Orders commit_answered(const PeerId& id, const Result<CommitAnswer>& answer, Time now) override;

 protected:
  void begin(uint64_t step) override;
  void advance() override;
  void judge_rounds() override;
  void member_lost(const PeerId& id, uint32_t stage) override;
  void slot_was_skipped() override;
  Admission judge_admission(const PeerId& id) const override;
  bool enter(const PeerId& id) override;
  bool counts(const PeerId& id) const override;

  /// Something else than closing the open step is to be done first; true: it is not to be closed.
  virtual bool hold_back() { return false; }
  /// An update of this stage is under way that a lost peer may have been needed for.
  virtual bool update_under_way(uint32_t stage) const;
  /// The same as Schedule::round(), to be changed.
  virtual StageRound* find(uint32_t stage, uint64_t round);

  void open_step(uint64_t step, uint64_t computed_on);
  /// Such a peer would refuse to close the open step.
  bool still_commits(uint32_t stage) const;
  /// A holder that nobody could tell what counts: its share is computed again. True if there was
  /// one.
  bool drop_unreachable_holder(uint32_t stage);
  void send_close(uint32_t stage, bool go_on, const orders::CommitStep* commit);
  /// The decision is made: metrics and audit of `closing`, and the commit that its peers are to be
  /// told.
  orders::CommitStep decide_commit(const OpenStep& closing);
  void judge(uint32_t stage, StageRound& round);

 private:
  void start_round(uint32_t stage);
  void commit();
  void dropped_late(const RoundMember& member, const Result<CloseAnswer>& answer);
  void abandon(uint32_t stage);
  void take(const PeerId& id, const CommitAnswer& answer);
};

}  // namespace swarm::routing
