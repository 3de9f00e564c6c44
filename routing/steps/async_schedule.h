/// Asynchronous training (docs/asynchronous.md): periods of slots overlap, peers update by
/// themselves, and the weights of a stage are averaged now and then. Pure; see Schedule.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/strong_id.h"
#include "routing/steps/schedule.h"

namespace swarm::routing {

class AsyncSchedule : public Schedule {
 public:
  AsyncSchedule(ScheduleOptions options, Roster& roster)
      : Schedule(in_rounds(std::move(options)), roster) {}

  void close() override;
  Leases lease(const ActorId& trainer, uint32_t max_slots, double deadline_s) override;
  Orders period_answered(const RoundMember& member, const Result<PeriodAnswer>& answer,
                         Time now) override;

 protected:
  void begin(Step step) override;
  void advance() override;
  void member_lost(const PeerId& id, Stage stage) override;
  Admission judge_admission(const PeerId& id) const override;
  bool enter(const PeerId&) override { return true; }  // what it holds is in its weights
  void round_due(const orders::Later& later) override;
  std::vector<StepLedger*> ledgers() override;

 private:
  static ScheduleOptions in_rounds(ScheduleOptions options) {
    options.averages_updates = true;
    return options;
  }
  bool open_next_period();
  void close_period();
  bool averaging() const;
  bool replicas_equal() const;
  void begin_last_round();
  void end_last_round();
  void end_period(Stage stage, Step period, bool average, bool save);
  void begin_round(Stage stage, orders::EndPeriod& message);
  void take(const RoundMember& member, const PeriodAnswer& answer);
  void round_over(Stage stage);
  void compare(Stage stage, const StageRound& round);
  void refuse_weights(const RoundMember& by, const StageRound& round, const RoundFailure& failure);
  uint64_t most_samples(Stage stage, Step period);

  std::deque<std::unique_ptr<StepLedger>> ahead_;  ///< Periods after the open one, ascending.
  bool last_round_ = false;      ///< Every period is done; the last averaging runs.
  std::vector<int> last_tries_;  ///< Of it, by stage.
  struct Averaged {
    Step began;                ///< The period after which the latest round began.
    std::optional<Step> last;  ///< Likewise, of the last one that all members took.
  };
  std::map<Stage, Averaged> averaged_;
  Step opened_;  ///< Here training began or went on when the swarm had gathered.
};

}  // namespace swarm::routing
