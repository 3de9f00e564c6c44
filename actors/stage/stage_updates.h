/// How the parameters of a stage change: by steps whose gradients are averaged (StepUpdates), or by
/// local updates between averagings of the weights (PeriodUpdates). Chosen once, when the stage
/// server is made.
#pragma once

#include <caf/response_promise.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/averaging/averager.h"
#include "actors/net/mail.h"
#include "actors/stage/local_updater.h"
#include "actors/stage/stage_context.h"
#include "common/strong_id.h"
#include "routing/steps/microbatch_window.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers.
class StageUpdates {
 public:
  virtual ~StageUpdates() = default;

  // -- microbatches
  virtual routing::MicrobatchWindow window() const = 0;
  /// Nothing is computed until compute_next() is called.
  virtual bool pauses() const = 0;
  /// The gradient of a slot that enters the sum is really added to it.
  virtual bool adds(const MicrobatchKey& key) const = 0;
  /// For compute jobs: what updates the parameters after a backward; null: nothing does.
  virtual std::shared_ptr<LocalUpdater> updater() const { return nullptr; }
  virtual void updated(const LocalUpdates&) {}
  /// The gradient sum of this epoch is not what the last add left: nothing was added to it any more.
  virtual void sum_changed(uint64_t) {}

  // -- mail
  /// The kinds of this mode: CloseStep and CommitStep, or EndPeriod. Errors besides theirs:
  /// kInvalidArgument (a kind of another mode).
  virtual caf::result<Mail> on_mail(const Mail& mail) = 0;

  // -- membership
  /// An update is being applied: where the stage is cannot be said, nor may it be changed.
  virtual bool committing() const { return false; }
  /// It has brought something to an average or update that is not made yet. In periods: only to a round
  /// that is under way; the coordinator knows which round has all its updates.
  virtual bool owes() const = 0;
  virtual void describe_to(proto::RegisterPeer& message) const = 0;
  /// SERVE: goes to the step that the coordinator names. False: it was overtaken, ignore it.
  virtual bool go_on(const proto::RegisterPeerReply& verdict) = 0;
  /// The peer serves no more.
  virtual void stop(const std::string& reason) = 0;
  /// The parameters were replaced, `at` says by those of which step: by the seed's, or by others'.
  virtual void loaded(bool from_seed) = 0;

  // -- states
  /// The step that a frozen state is to be numbered with; nothing: its own.
  virtual std::optional<Step> number_of_state() const { return std::nullopt; }
  /// A state of the same number may differ from an earlier one.
  bool states_change() const { return number_of_state().has_value(); }
  virtual std::string describe() const = 0;
};

/// The mode that context.deps.training asks for.
std::unique_ptr<StageUpdates> make_stage_updates(StageContext& context);

/// What is in memory is of no step any more.
void give_up_state(StageContext& context, StageUpdates& updates);

using Promises = std::vector<caf::response_promise>;
void deliver(Promises& promises, const Result<Mail>& reply);
/// Asks the averager; `done(Result<AverageResult>)`, at the latest after options.transfer_limit.
void request_average(StageContext& context, AverageRound round,
                     std::function<void(Result<AverageResult>)> done);
/// Of a result that names members as unreached.
proto::RoundFailure failure_of(const AverageResult& result);
/// The averager's error is about another member. To the coordinator these codes would say that this
/// peer is gone, or that its answer is late.
Error about_others(Error error);

}  // namespace swarm::actors
