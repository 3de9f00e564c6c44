/// What the pure parts of a coordinator tell it to do, and the facts it is told: plain values. The
/// Coordinator turns orders into mail, events and lines of metrics (actors/coordinator/).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/keep_step.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/averaging/reach.h"
#include "routing/membership/odd_replicas.h"
#include "routing/membership/replicas.h"
#include "routing/membership/roster.h"
#include "routing/time.h"

namespace swarm::routing {

/// Facts that are worth an event; `stage` and `step` stand in Note.
namespace facts {
struct PeerAdmitted {
  PeerId peer;
};
struct PeerLost {
  PeerId peer;
  std::string reason;
};
struct Recompute {
  size_t slots = 0;
};
// Of slots: the step is theirs, not the oldest that is open, as asynchronous periods overlap.
struct LeaseExpired {
  Step step;
  Slot slot;
};
struct AttemptFailed {
  Step step;
  Slot slot;
  std::string reason;
};
struct SlotSkipped {
  Step step;
  Slot slot;
  PeerId peer;  ///< The second that found it not finite.
};
/// Every slot of the step was skipped.
struct Diverged {};
struct MemberFailed {
  PeerId peer;
  Error error;
};
/// It takes no part for now: there is one of its stage that it cannot reach, and none between them.
struct SetAside {
  PeerId peer, from;
  Time retry_in{};
};
/// It takes part in no rounds: what it costs the others in a step is more than its samples are worth.
struct BecameReader {
  PeerId peer;
  double costs_s = 0, samples = 0;
};
/// Two members reach each other through a third.
struct PartsRelayed {
  PeerId a, b, via;
};
struct AveragesDiffer {
  PeerId peer;  ///< That is not believed.
};
/// A member's numbers were not finite: `slots` are computed again, or left out.
struct SumNotFinite {
  PeerId peer, by;  ///< Whose, and who says so.
  size_t slots = 0;
};
/// A node has failed too often.
struct PeerRests {
  PeerId peer;
  Time rests{};
  std::string reason;
};
struct RestEnds {
  std::string node, reason;
};
/// Delayed updates pause until that step.
struct RunsPlain {
  Step until;
};
struct StageAveraged {
  size_t peers = 0;
  Time since_open{};
  bool overlapped = false;
};
struct MemberAveraged {
  PeerId peer;
  double took_s = 0, stalled_s = 0;
};
struct AveragingSkipped {
  std::string reason;
};
struct RoundAbandoned {
  Round round;
};
struct CommitFailed {
  PeerId peer;
  Error error;
};
struct ReplicasCompared {
  ReplicaComparison found;
};
/// A replica that is not believed fetches what the others have.
struct ReplicaReplaced {
  Replica replica;
  uint64_t right = 0;  ///< The checksum of those that stay.
};
/// The swarm goes on from the note's step, which may be an older one.
struct Recovered {
  std::optional<Step> from_step;
  std::optional<size_t> present, before;  ///< Peers, if some are missing.
  std::string reason;
};
/// Half of the swarm or less is here.
struct Minority {
  uint64_t number = 0;               ///< Of the newest configuration known to hold.
  size_t have = 0, of = 0;           ///< Of its voters.
  std::vector<std::string> missing;  ///< Names of nodes.
};
/// The minority is over.
struct Quorum {
  size_t have = 0, of = 0;
  Time after{};  ///< That it has waited.
};
/// The swarm goes on from the note's step.
struct ConfigurationHolds {
  uint64_t number = 0;
  size_t voters = 0;
  std::vector<std::string> joined, left;  ///< Names of nodes, against the one before.
  bool gone_back = false, forced = false;
  std::optional<std::string> line{};        ///< Configuration::line_text().
  std::vector<std::string> lines_before{};  ///< Configuration::lines_before().
};
struct CannotGoOn {
  Error error;
};
struct SaveFailed {
  Error error;
};
struct Finished {
  uint64_t steps = 0;
  std::optional<double> validation_loss;
  std::string not_durable;  ///< Why the end is not on a disk in every stage; empty: it is.
};
}  // namespace facts

using Fact =
    std::variant<facts::PeerAdmitted, facts::PeerLost, facts::Recompute, facts::LeaseExpired,
                 facts::AttemptFailed, facts::SlotSkipped, facts::Diverged, facts::MemberFailed,
                 facts::SetAside, facts::BecameReader, facts::PartsRelayed, facts::AveragesDiffer,
                 facts::SumNotFinite, facts::PeerRests, facts::RestEnds, facts::RunsPlain,
                 facts::StageAveraged, facts::MemberAveraged, facts::AveragingSkipped,
                 facts::RoundAbandoned, facts::CommitFailed, facts::ReplicasCompared,
                 facts::ReplicaReplaced, facts::Recovered, facts::Minority, facts::Quorum,
                 facts::ConfigurationHolds, facts::CannotGoOn, facts::SaveFailed, facts::Finished>;

/// What a member brings into a round: `slots` ascending, `attempts` one for each.
struct Share {
  PeerId peer;
  std::string node_name;
  std::vector<Slot> slots;
  std::vector<Attempt> attempts;
};
/// How a member's numbers went into a round, where something rounds: what a replay needs to know.
struct BroughtIn {
  std::vector<Slot> order;  ///< As they were added to its sum.
  bool gave_back = false;   ///< It had something that codecs had taken before.
};

namespace orders {
/// Write an event.
struct Note {
  std::optional<Stage> stage;  ///< None: does not apply.
  Step step;
  Fact fact;
};
/// Tell a peer to apply the average of a round.
struct CommitStep {
  PeerId peer;
  Step step;
  Round round;
  double gradient_norm = 0;  ///< Of the whole model.
  bool save = false;         ///< And to write a snapshot of step + 1.
  /// The snapshot that it may not prune, if one is known.
  std::optional<KeepStep> keep{};
  History after{};  ///< Of the state that it makes.
  /// By stage: whose averages the step is made of.
  std::vector<Round> rounds{};
};
/// Tell all members of a stage to average; report every answer by Schedule::close_answered().
struct CloseStep {
  Stage stage;
  Step step;
  Round round;
  uint64_t samples = 0;                  ///< Of the step without the skipped ones: the divisor.
  std::vector<Share> members;            ///< Those that are reachable are asked.
  std::vector<Relay> relays{};           ///< Between members that cannot reach each other.
  std::vector<uint32_t> part_weights{};  ///< Of the members (averaging_plan.h).
  bool go_on = false;                    ///< Go on with step + 1 meanwhile.
  std::optional<CommitStep> commit{};    ///< To be applied before; its `peer` is empty.
};
/// Tell the members that their round is given up.
struct AbandonRound {
  Step step;
  Round round;
  std::vector<PeerId> members;
};
/// Asynchronous: tell all members of a stage that a period is over, and to average if `round` is
/// not 0; report every answer by Schedule::period_answered().
struct EndPeriod {
  Stage stage;
  Step period;
  Round round;
  std::vector<PeerId> members;  ///< Those that are reachable are asked.
  std::vector<Relay> relays{};  ///< As in CloseStep.
  std::vector<uint32_t> part_weights{};
  uint64_t most_samples = 0;  ///< That a member can have trained on since the last average.
  bool blocking = false, save = false;
  std::optional<KeepStep> keep{};  ///< As in CommitStep.
};
/// Write the line of a step's audit: what is committed next.
struct WriteAudit {
  struct StageAverage {
    Round round;
    uint64_t digest = 0;
    std::vector<Share> members;
    std::map<PeerId, BroughtIn> brought{};  ///< Of those that told.
    std::vector<uint32_t> part_weights{};
  };
  Step step, computed_on;
  uint32_t counted_slots = 0, attempts = 0;
  std::vector<Slot> skipped;
  std::vector<StageAverage> stages;
  uint64_t configuration = 0;
  History after{};  ///< Of the state that the commit makes.
};
/// Write the line of a step's metrics.
struct WriteMetrics {
  Step step;
  Time took{};
  std::optional<double> train_loss;  ///< None: nothing was trained in this step.
  std::optional<double> validation_loss;
  uint32_t slots = 0, attempts = 0;
  std::optional<double> gradient_norm;  ///< None: no update of the whole model was made.
  std::vector<uint32_t> live_peers;     ///< By stage.
};
/// The swarm must agree on a step anew: begin a Gathering.
struct Gather {
  std::string reason;
};
/// All is agreed on: Schedule::open() this step.
struct Open {
  Step step;
  History history{};
};
/// Tell a peer to register again.
struct AskToRegister {
  PeerId peer;
  std::string reason;
};
/// A peer follows a newer term.
struct StepDown {
  std::string reason;
};
/// Something may be leased: serve the lease desk.
struct ServeLeases {};
/// Have every serving peer write a snapshot; report by Schedule::saved().
struct SaveAll {};
/// Have this peer write one, which came back after the others had.
struct SaveLate {
  PeerId peer;
};
/// Nothing more will be leased.
struct EndLeases {};
/// Call Schedule::resume() with it after `pause`.
struct Later {
  enum class What { kAdvance, kSaveFinal, kRoundOver, kLastRound };
  What what = What::kAdvance;
  Time pause{};
  Stage stage{};  ///< Of the last two.
  Round round{};
};
}  // namespace orders

using Order =
    std::variant<orders::Note, orders::CommitStep, orders::CloseStep, orders::AbandonRound,
                 orders::EndPeriod, orders::WriteAudit, orders::WriteMetrics, orders::Gather,
                 orders::Open, orders::AskToRegister, orders::StepDown, orders::ServeLeases,
                 orders::SaveAll, orders::SaveLate, orders::EndLeases, orders::Later>;
using Orders = std::vector<Order>;

// -- facts that a schedule is told

/// A peer has applied an update.
struct CommitAnswer {
  Step step;              ///< Updates applied.
  uint64_t checksum = 0;  ///< Of its state after it.
  /// Before it the state was another one than after the update before.
  bool changed_at_rest = false;
  History history{};  ///< Of its state after it.
};
/// A member lives, but could not finish its round.
struct RoundFailure {
  std::vector<uint32_t> unreached;  ///< Members, by their places, that it could not reach.
  Error error;
  bool link = false;  ///< No link to them; else nothing came in time: they may hang.
  std::vector<uint32_t> not_finite{};  ///< Members, by their places, whose numbers were not finite.
  bool late = false;                   ///< It gave up at its own deadline; others' may be later.
};
/// A member's answer to CloseStep.
struct CloseAnswer {
  bool holds_more = false;  ///< It has dropped its sum: it held slots that do not count.
  double squared_norm = 0;
  uint64_t digest = 0;  ///< Of the average.
  std::optional<CommitAnswer> committed;
  std::optional<RoundFailure> failed;  ///< Then all else but `committed` says nothing.
  std::optional<BroughtIn> brought{};
};
/// A member's answer to EndPeriod.
struct PeriodAnswer {
  uint64_t checksum = 0;  ///< Of what was averaged, as the round left it; 0: not known.
  double took_s = 0, stalled_s = 0;
  std::optional<RoundFailure> failed;  ///< Then all else says nothing.
  uint64_t digest = 0;                 ///< Of the average that it took; 0: of none.
};
/// Whose answer, in which round; `step` is the one that was to be closed.
struct RoundMember {
  Stage stage;
  Round round;
  Step step;
  PeerId peer;
};

}  // namespace swarm::routing
