/// The swarm agrees on the step to go on from: it waits for reports, plans (routing/membership/
/// recovery.h), has peers load what the plan says, and opens the step when every stage is served.
///
/// Pure: time is an argument. One owner: the Coordinator. Marks peers of the roster as serving.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/strong_id.h"
#include "routing/membership/admission.h"
#include "routing/membership/consent.h"
#include "routing/membership/recovery.h"
#include "routing/membership/roster.h"
#include "routing/steps/orders.h"
#include "routing/time.h"

namespace swarm::routing {

struct GatheringOptions {
  /// Peers that every stage needs before a fresh or resumed run starts, and that a fresh run needs
  /// in all.
  uint32_t min_peers_per_stage = 1;
  uint32_t min_peers = 0;
  uint64_t steps = 0;  ///< Of the run.
  /// No newcomer for so long before the plan is made: when nobody has state in memory, and when
  /// somebody has.
  Time start_grace{}, takeover_grace{};
  /// A peer that is known but does not report is waited for this long: as long as a link may be
  /// silent before it counts as lost.
  Time report_patience = std::chrono::seconds(5);
  /// A voter that has neither answered nor failed to, likewise: longer than finding and asking it may take.
  Time voter_patience = std::chrono::seconds(12);
  /// Half of the swarm or less waits this long for the others: the network may be divided, and what
  /// both parts do apart is done twice. Then it goes on, since the others may be gone for good.
  /// Four times as long as a link may be silent.
  Time minority_patience = std::chrono::seconds(20);
  /// Nothing is planned or opened without it, and minority_patience says nothing; it outlives the
  /// gathering. Null: no other node need agree.
  Consent* consent = nullptr;
};

/// All peers go on from one step. GatheringByPeriod below is for those at their own pace.
class Gathering {
 public:
  Gathering(const GatheringOptions& options, Roster& roster) : options_(options), roster_(roster) {}
  virtual ~Gathering() = default;
  /// The swarm gathers because of `reason`. `applied`: the updates that it has applied, if this
  /// coordinator led it until now. Nobody serves from now on; all are asked to register. While it
  /// gathers already, the first `applied` stands.
  Orders begin(const std::string& reason, std::optional<Step> applied, Time now);
  /// Gatherings are counted from 0 in each term.
  void new_term() { count_ = 0; }
  /// This node coordinates no longer: what was applied until now says nothing of the next time.
  void stop();
  /// A peer has come that was not here before.
  void newcomer(Time now) { last_newcomer_at_ = now; }
  /// A peer is gone: it may have been the source of somebody's state.
  void plan_anew() { plan_.reset(); }
  /// A step is open: gathering is over.
  void opened();

  /// What is to be done now: nothing while something is waited for (see waiting_for()), commits that
  /// a coordinator before did not finish, the plan's invitations, or, at last, orders::Open.
  Orders next(Time now);
  /// What a peer that registers is told; kServe marks it as serving.
  Verdict admit(const PeerId& id);

  using Supplies = std::vector<PeerSupply>;
  /// What there is to plan with, of those that have registered.
  Supplies possible_supplies() const;

  const std::string& reason() const { return reason_; }
  const std::string& waiting_for() const { return waiting_for_; }
  uint64_t count() const { return count_; }  ///< Gatherings of this term.
  std::optional<Step> planned_step() const;
  /// All are here that are waited for, but not what some stage needs.
  bool lacks_states() const { return gathers_ && lacks_states_; }

 protected:
  virtual Result<RecoveryPlan> plan(const Supplies& supplies) const;
  /// Whether a peer with state has what the plan wants of it.
  virtual bool arrived(const PeerId& id) const;
  /// Whether replicas at one step must hold the same bits.
  virtual bool same_bits() const { return true; }
  /// Peers whose arrival is waited for before the step is opened.
  virtual std::optional<std::string> awaited(Time now);
  /// After a takeover some stages may have applied the last commit and others not yet: if one has,
  /// every stage had averaged, so the rest is told to commit too.
  virtual bool half_committed(Orders& out);

  const RecoveryAction* action_of(const PeerId& id) const;
  GatheringOptions options_;
  Roster& roster_;
  std::optional<RecoveryPlan> plan_;
  Time since_{};

 private:
  Orders make_plan(Time now);
  Orders open(Time now);
  std::optional<std::string> unreported(Time now) const;
  void count_swarm();
  std::optional<std::string> too_few(const Supplies& supplies, Time now) const;
  std::optional<std::string> unanswered() const;
  std::optional<std::string> not_yet(const Supplies& supplies, Time now) const;
  std::optional<facts::Recovered> recovery(size_t present) const;
  std::vector<PeerId> sources_of(const RecoveryAction& action, Stage stage, bool live) const;
  Verdict load_verdict(const PeerFacts& peer, const RecoveryAction& action);

  Time last_newcomer_at_{};
  bool gathers_ = false, lacks_states_ = false;
  std::string reason_, waiting_for_;
  std::optional<Step> applied_before_;
  uint32_t swarm_peers_ = 0;  ///< Of which the swarm consisted, as far as the reports tell.
  bool had_history_ = false;  ///< A step was open in this swarm, as far as this node knows.
  uint64_t count_ = 0;
};

/// Asynchronous mode: stages and peers go on from where they are.
class GatheringByPeriod : public Gathering {
 public:
  using Gathering::Gathering;

 protected:
  Result<RecoveryPlan> plan(const Supplies& supplies) const override;
  bool arrived(const PeerId& id) const override;
  bool same_bits() const override { return false; }
  std::optional<std::string> awaited(Time now) override;
  bool half_committed(Orders&) override { return false; }
};

}  // namespace swarm::routing
