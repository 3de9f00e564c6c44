/// What all modes of training share: the open step, its numbers, and the orders of the call under
/// way; the end of the run, which is the same in all of them. State of a Schedule, which alone uses
/// it; pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/strong_id.h"
#include "routing/averaging/part_weights.h"
#include "routing/averaging/reach.h"
#include "routing/averaging/readers.h"
#include "routing/membership/admission.h"
#include "routing/membership/latecomers.h"
#include "routing/membership/replicas.h"
#include "routing/membership/roster.h"
#include "routing/membership/term.h"
#include "routing/steps/agreement.h"
#include "routing/steps/open_step.h"
#include "routing/steps/orders.h"
#include "routing/steps/repairs.h"
#include "routing/steps/save_policy.h"
#include "routing/steps/step_ledger.h"
#include "routing/time.h"

namespace swarm::routing {

struct ScheduleOptions {
  uint64_t steps = 0;           ///< Of the run.
  uint32_t slots = 0;           ///< Training slots of a step.
  uint32_t microbatch = 0;      ///< Samples of a slot.
  uint32_t validate_every = 0;  ///< Steps between validations; 0: only at the end.
  uint32_t validation_slots = 0;
  SavePolicyOptions save;
  /// A peer that is alone with a later step is waited for so long.
  Time ahead_patience{};
  /// A node that fails again and again takes no part for a while (routing/membership/strikes.h).
  bool rests = true;
  /// Who does not serve learns on while others train; asynchronously it would take a whole state each
  /// time.
  bool learns_on = true;
  // -- asynchronous
  bool averages_updates = false;  ///< In rounds of their own; otherwise steps average gradients.
  uint64_t average_every = 1;     ///< Periods.
  bool background_averaging = false;
  uint64_t open_periods = 8;  ///< That overlap, at most.
  /// Nothing is committed without it; it outlives the schedule. Null: no other node need agree.
  Consent* consent = nullptr;
};

/// Of the coordinator that leads; rounds and attempts carry it.
struct Reign {
  Term term;
  uint64_t gathering = 0;
};

struct Frame {
  enum class Phase { kClosed, kOpen, kFinished };

  Frame(const ScheduleOptions& of_options, Roster& of_roster)
      : options(of_options),
        roster(of_roster),
        saves(of_options.save),
        agreement{of_options.consent} {}

  const ScheduleOptions options;
  Roster& roster;
  Phase phase = Phase::kClosed;
  bool over = false;  ///< Finished, and the last snapshots are durable.
  OpenStep open;
  Reign reign;
  History history;  ///< Of the state that Schedule::applied() names.
  uint64_t rounds = 0;
  SavePolicy saves;
  Reach reach;
  Readers readers;
  Latecomers latecomers;
  Repairs repairs;
  Agreement agreement;
  Time now{};  ///< Of the call under way.
  Orders orders;

  bool is_open() const { return phase == Phase::kOpen; }
  /// Every step is done: only the final validation is left.
  bool nothing_to_train() const { return open.step.value() >= options.steps; }
  void order(Order one) { orders.push_back(std::move(one)); }
  /// No stage: does not apply.
  void note(Fact fact, std::optional<Stage> stage = std::nullopt);
  /// Gives up what is open; the swarm is to gather.
  void gather(const std::string& reason);
  void close();
  /// Of a swarm whose peers have `applied` updates.
  Whereabouts whereabouts(Step applied) const;
  Round next_round() { return round_of(reign.term, ++rounds); }
  std::unique_ptr<StepLedger> make_ledger(Step step) const;
  /// Begins `step`, without a ledger.
  void enter(Step step, Step computed_on);
  /// Takes the open step out, to be closed.
  OpenStep take();
  /// Every slot was skipped: the model has diverged, no mean exists. Says so once a step.
  bool diverged();
  /// A peer that must come in anew: it serves no more.
  void send_back(const PeerId& id, const std::string& reason);
  /// The members of a stage's next round, and who relays between them. Those that cannot take part
  /// are set aside; true if there were any: the round is not to begin. `retry`: see Reach::plan().
  bool set_aside(Stage stage, std::vector<Relay>& relays, bool retry = true);
  /// How a round of a stage divides its vector among these members.
  const std::vector<uint32_t>& part_weights(Stage stage, const std::vector<Share>& members);
  /// Every member of the round has the average.
  void averaged(Stage stage, const StageRound& round);
  /// Members that hold rounds up for longer than they are worth leave them: between two steps.
  void retire_readers();
  /// Of some stage two that were parted are to be tried again: in a round that can be repeated.
  bool retry_due() const;
  /// A member of a round says whom it could not reach.
  void unreached(const RoundMember& member, const std::vector<PeerId>& members,
                 const RoundFailure& failure);
  /// A peer that is not serving would have to be set aside if it were, and is.
  std::optional<Reach::Aside> parted(const PeerId& id);
  /// The peer's attempts leased before do not count.
  void dropped(const PeerId& id);
  void write_metrics(const OpenStep& closing, std::optional<double> gradient_norm);
  void note_replicas(Stage stage, Step step, const ReplicaComparison& found);

  // -- the end
  /// The run's last step is full: validated. Then the last snapshots are written until every stage
  /// has them; a stage that dies before is trained again from the newest common one.
  void finish();
  void save_final();
  void saved(const Status& status);
  /// After the end: whether a peer came back too late to be asked with the others.
  void save_late(const PeerId& id);

 private:
  std::vector<Reach::Member> members_of(Stage stage) const;
  void note_relays(Stage stage, const std::vector<Reach::Member>& members,
                   const std::vector<Relay>& relays);
  void end();
  bool said_diverged_ = false;
  std::map<Stage, size_t> said_relays_;  ///< Pairs, by stage.
  std::map<Stage, PartWeights> part_weights_;
  facts::Finished finished_;
};

}  // namespace swarm::routing
