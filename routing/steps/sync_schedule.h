/// Synchronous training: a step is closed when every stage holds all its slots, averaged, committed,
/// and the next one is opened (docs/training_protocol.md). Pure; see Schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "common/strong_id.h"
#include "routing/steps/schedule.h"

namespace swarm::routing {

class SyncSchedule : public Schedule {
 public:
  using Schedule::Schedule;

  Orders close_answered(const RoundMember& member, const Result<CloseAnswer>& answer,
                        Time now) override;
  Orders commit_answered(const PeerId& id, const Result<CommitAnswer>& answer, Time now) override;

 protected:
  void begin(Step step) override;
  void advance() override;
  void judge_rounds() override;
  void member_lost(const PeerId& id, Stage stage) override;
  void slot_was_skipped() override;
  Admission judge_admission(const PeerId& id) const override;
  bool enter(const PeerId& id) override;
  bool counts(const PeerId& id) const override;

  /// Something else than closing the open step is to be done first; true: it is not to be closed.
  virtual bool hold_back() { return false; }
  /// An update of this stage is under way that a lost peer may have been needed for.
  virtual bool update_under_way(const PeerId& id, Stage stage) const;
  /// The same as Schedule::round(), to be changed.
  virtual StageRound* find(Stage stage, Round round);
  /// A round that carries an update, or whose step runs on, cannot be tried again.
  virtual void collapse(const std::string& reason);

  void open_step(Step step, Step computed_on);
  /// Such a peer would refuse to close the open step.
  bool still_commits(Stage stage) const;
  /// A holder that nobody could tell what counts: its share is computed again. True if there was
  /// one.
  bool drop_unreachable_holder(Stage stage);
  void send_close(Stage stage, bool go_on, const orders::CommitStep* commit,
                  std::vector<Relay> relays);
  /// The decision is made: metrics and audit of `closing`, and the commit that its peers are to be
  /// told.
  orders::CommitStep decide_commit(const OpenStep& closing);
  void judge(Stage stage, StageRound& round);

 private:
  void start_round(Stage stage);
  void commit();
  void dropped_late(const RoundMember& member, const Result<CloseAnswer>& answer);
  void abandon(Stage stage);
  void blame_silent(const StageRound& round, const std::vector<PeerId>& silent);
  void refuse_sum(Stage stage, const StageRound& round, const PeerId& id);
  void take(const PeerId& id, const CommitAnswer& answer);
};

}  // namespace swarm::routing
