/// Steps: the gradient sums of a stage are averaged (CloseStep) and applied (CommitStep); with
/// delayed updates one step later (docs/training_protocol.md).
#pragma once

#include <optional>
#include <set>

#include "actors/stage/round_members.h"
#include "actors/stage/stage_updates.h"
#include "actors/stage/step_commit.h"
#include "common/strong_id.h"
#include "routing/steps/round_rules.h"
#include "routing/steps/slot_fault.h"

namespace swarm::actors {

class StepUpdates final : public StageUpdates {
 public:
  explicit StepUpdates(StageContext& context);

  routing::MicrobatchWindow window() const override;
  bool pauses() const override { return committing_; }
  bool adds(const MicrobatchKey& key) const override;
  void sum_changed(uint64_t epoch) override;

  caf::result<Mail> on_mail(const Mail& mail) override;

  bool committing() const override { return committing_; }
  bool owes() const override {
    const bool averages = round_.result || !round_.promises.empty();
    return committing_ || context_.contributions.size() > 0 || (averages && !round_.held.empty());
  }
  void describe_to(proto::RegisterPeer& message) const override;
  bool go_on(const proto::RegisterPeerReply& verdict) override;
  void stop(const std::string& reason) override;
  void loaded(bool from_seed) override;

  std::string describe() const override;

 private:
  using Commit = StepCommit;
  struct Close {  ///< CloseStep, decoded.
    Step step;
    bool abandons = false;  ///< Has no members.
    bool is_member = false;
    bool go_on = false;
    std::optional<Commit> commit;
    routing::CountedSlots counted;  ///< Of this peer.
    AverageRound average;           ///< Without the gradient.
  };
  /// A round of this stage for the open step.
  struct RoundState {
    Round id;
    Promises promises;
    std::optional<AverageResult> result;
    bool abandoned = false;
    bool of_two = false;                              ///< Members.
    std::vector<routing::Contributions::Held> held;   ///< In the sum that it averages ...
    std::optional<proto::BroughtIn> brought;          ///< ... and how, if something rounds.
    std::optional<proto::CommitStepReply> committed;  ///< Of the update that came with it.
  };
  struct Closed {  ///< What the compute job of a close gives.
    Buffer sum;
    AppliedUpdate applied;                ///< Close.commit.
    std::optional<uint64_t> changed_sum;  ///< Its epoch: it changed by itself, nothing was done.
  };

  Result<Close> decode(const proto::CloseStep& message);
  caf::result<Mail> on_close(const Mail& mail);
  caf::result<Mail> on_commit(const Mail& mail);
  routing::RoundPlace place() const;
  Status check(const Close& close) const;
  bool holds_more(const Close& close);
  void begin(const Close& close, caf::response_promise promise);
  void closed(const Close& close, const RoundState& before, Result<Closed> result);
  void start_round(AverageRound round, const Buffer& sum);
  void round_done(Round round, Result<AverageResult> result);
  void abandon_round(const std::string& reason);
  UpdateJob update_of(const RoundState& round, const Commit& commit) const;
  void committed(const Commit& commit, caf::response_promise promise, Result<AppliedUpdate> update);
  void applied(const Commit& commit, const RoundState& round, const AppliedUpdate& update);
  void enter_step(Step step);
  void drop_sum(const std::string& reason);
  void collapse(const std::string& reason);
  proto::CommitStepReply commit_reply() const;

  StageContext& context_;
  std::optional<routing::SlotFault> dropped_;  ///< A defect: see FaultOptions.drop_gradient.
  RoundMembers members_;
  RoundState round_;
  bool committing_ = false;
  Round last_round_;  ///< Round of the commit that led to the open step.
  double last_gradient_norm_ = 0;
  std::vector<Round> commit_rounds_;  ///< Likewise, of all stages.
  bool changed_at_rest_ = false;      ///< Before its last update.
  bool state_came_ = true;            ///< Not by its own last update.
};

}  // namespace swarm::actors
