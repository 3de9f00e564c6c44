/// Delayed updates (paper, Sec. 3; docs/training_protocol.md): a step is averaged while the next one
/// is computed. Steps at which somebody waits to come in, the last one, and the first one after a
/// collapse (the swarm has gathered in the middle of an update) are closed as in synchronous training;
/// after two collapses within kPlain steps the next kPlain are, too: there a loss costs slots, not steps.
/// Pure; see Schedule.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/strong_id.h"
#include "routing/steps/sync_schedule.h"

namespace swarm::routing {

class DelayedSchedule : public SyncSchedule {
 public:
  using SyncSchedule::SyncSchedule;

  static constexpr uint64_t kPlain = 20;
  /// Steps that run dry for a newcomer, and after how many they do again.
  static constexpr uint64_t kPatience = 6, kAgain = 60;

  void close() override;
  Step applied() const override { return pending_ ? pending_->step : frame_.open.step; }
  const StageRound* round(Stage stage, Round round) const override;

 protected:
  void judge_rounds() override;
  bool hold_back() override;
  bool update_under_way(const PeerId& id, Stage stage) const override;
  StageRound* find(Stage stage, Round round) override;

  void begin(Step step) override;
  void collapse(const std::string& reason) override;

 private:
  bool is_dry_run();
  bool newcomer_due();
  void close_and_go_on();
  std::optional<OpenStep> pending_;  ///< Closed, not yet committed.
  std::optional<Step> collapsed_;    ///< The step that was open at the last collapse.
  bool collapses_ = false;           ///< Since the last begin().
  std::optional<Step> alone_;        ///< To be closed as in synchronous training.
  Step plain_until_;                 ///< Likewise, those before it.
  std::map<PeerId, Step> awaited_;   ///< Newcomers, and since which step.
};

}  // namespace swarm::routing
