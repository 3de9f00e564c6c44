/// Delayed updates (paper, Sec. 3; docs/training_protocol.md): a step is averaged while the next one
/// is computed. Steps at which somebody waits to come in, and the last one, are closed as in
/// synchronous training. Pure; see Schedule.
#pragma once

#include <optional>

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

 private:
  bool is_dry_run() const;
  void close_and_go_on();
  std::optional<OpenStep> pending_;  ///< Closed, not yet committed.
};

}  // namespace swarm::routing
