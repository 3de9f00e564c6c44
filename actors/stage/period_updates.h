/// Periods (asynchronous mode, docs/asynchronous.md): every peer updates its own parameters after
/// its backward passes; at the end of a period replicas may average their weights (EndPeriod).
#pragma once

#include "actors/coordinator/staleness.h"
#include "actors/stage/stage_updates.h"
#include "common/strong_id.h"

namespace swarm::actors {

class PeriodUpdates final : public StageUpdates {
 public:
  explicit PeriodUpdates(StageContext& context);

  routing::MicrobatchWindow window() const override;
  bool pauses() const override { return stalled_; }
  bool adds(const MicrobatchKey& key) const override;
  std::shared_ptr<LocalUpdater> updater() const override { return updater_; }
  void updated(const LocalUpdates& updates) override;

  caf::result<Mail> on_mail(const Mail& mail) override;

  /// Less than an update's microbatches are in the next round all the same: begin().
  bool owes() const override { return averaging_; }
  void describe_to(proto::RegisterPeer& message) const override;
  bool go_on(const proto::RegisterPeerReply& verdict) override;
  void stop(const std::string& reason) override;
  void loaded(bool from_seed) override;

  std::optional<Step> number_of_state() const override { return context_.at.open_step; }
  std::string describe() const override;

 private:
  struct RoundState {  ///< Of weights.
    Round id;
    Promises promises;
    bool abandoned = false;
    bool blocking = false;  ///< Nothing is computed until it is over.
    bool save_afterwards = false;
    double began_s = 0;
    double sent_s = 0;     ///< Of copying what this peer contributes.
    uint64_t trained = 0;  ///< LocalUpdater::trained() then.
  };
  struct Sent {  ///< What this peer contributes to a round.
    Buffer vector;
    uint64_t trained = 0;
    LocalUpdates rest{};  ///< Made for it.
  };
  /// What the parameters hold that no average had a part of.
  struct Since {
    Round average;         ///< That they build on; of no round: the first weights.
    uint64_t trained = 0;  ///< LocalUpdater::trained() when they were sent to it.
  };

  caf::result<Mail> on_end_period(const Mail& mail);
  Result<AverageRound> decode(const proto::EndPeriod& message) const;
  void begin(RoundState round, AverageRound average);
  void take(const Buffer& sent, Result<AverageResult> result);
  void end(Result<proto::EndPeriodReply> reply);
  void enter_period(Step period);
  proto::EndPeriodReply reply();

  StageContext& context_;
  std::shared_ptr<LocalUpdater> updater_;  ///< Shared with compute jobs, used only there.
  Since since_;
  uint64_t updates_made_ = 0;
  Staleness staleness_;         ///< Since the start, for people.
  Staleness period_staleness_;  ///< Since the last report.
  RoundState round_;            ///< The latest; no other begins before it has ended.
  bool averaging_ = false;      ///< It is under way.
  bool stalled_ = false;
};

}  // namespace swarm::actors
