/// Delayed updates (paper, Sec. 3; docs/training_protocol.md): a step is averaged while the next one
/// is computed. Steps at which somebody waits to come in, the last one, and the first one after a
/// failed round are closed as in synchronous training. Pure; see Schedule.
#pragma once

#include <optional>
#include <vector>

#include "common/strong_id.h"
#include "routing/steps/sync_schedule.h"

namespace swarm::routing {

class DelayedSchedule : public SyncSchedule {
 public:
  using SyncSchedule::SyncSchedule;

  void close() override;
  Step applied() const override { return pending_ ? pending_->step : frame_.open.step; }
  const StageRound* round(Stage stage, Round round) const override;

 protected:
  void judge_rounds() override;
  bool hold_back() override;
  bool update_under_way(Stage stage) const override;
  StageRound* find(Stage stage, Round round) override;

  void begin(Step step) override;
  void overlapped_round_failed() override;

 private:
  bool is_dry_run() const;
  void close_and_go_on();
  std::optional<OpenStep> pending_;  ///< Closed, not yet committed.
  bool round_failed_ = false;        ///< An overlapped one, since the last begin().
  std::optional<Step> alone_;        ///< To be closed as in synchronous training.
};

}  // namespace swarm::routing
