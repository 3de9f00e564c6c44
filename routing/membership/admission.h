/// What a peer that registers is told: to serve, to fetch or load its state, or to wait and why.
///
/// Pure: time is an argument. Reads the roster, changes nothing: what else is to happen stands in
/// Admission::then.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/keep_step.h"
#include "common/strong_id.h"
#include "routing/membership/attendance.h"
#include "routing/membership/copies.h"
#include "routing/membership/line_left.h"
#include "routing/membership/roster.h"
#include "routing/state/state_label.h"
#include "routing/time.h"

namespace swarm::routing {

/// Why a peer fetches the step that it has.
constexpr const char* kOtherBits = "other bits than its replicas have";
constexpr const char* kOtherHistory = "another history";

struct Verdict {
  enum class Kind {
    kWait,        ///< Register again after `retry_after`.
    kServe,       ///< Member at `open_step`, with the parameters of `step`.
    kFetch,       ///< Fetch the state from one of `sources`, then register again.
    kRestoreOwn,  ///< Load the own snapshot of `step`, then register again.
    kInitialise,  ///< Draw the parameters from the run's seed.
    kMove,        ///< Leave for the stage `move_to`, by `order`.
  };
  Kind kind = Kind::kWait;
  std::string reason{};
  Step step, open_step;
  Time retry_after{};
  bool keep_held = false;    ///< kServe: what it holds counts; else it drops its sum.
  bool exact = false;        ///< kFetch: exactly `step`, from snapshots too.
  bool from_copies = false;  ///< kFetch: `sources` serve other stages and have a copy.
  std::vector<PeerId> sources{};
  std::optional<StateLabel> word{};  ///< kFetch: the state at `step`, if that is known.
  std::optional<KeepStep> keep{};    ///< The snapshot that it may not prune.
  uint64_t order = 0;                ///< That it is to carry out (routing/membership/relocation.h).
  Stage move_to{};
  CopyOrders copies{};  ///< Of other stages' snapshots.
  /// kWait: what is not of the line that goes on is first to be set aside.
  std::optional<LineLeft> line_left{};
};

/// Where the swarm is while it trains or after the end.
struct Whereabouts {
  Step step;              ///< The open one.
  Step applied;           ///< Updates that its peers have applied: step, or one less.
  bool finished = false;  ///< Training is over; nobody gathers any more.
  /// A peer that is alone with a later step is waited for so long.
  Time patience{};
  History history{};  ///< Of the state after `applied` updates; 0: not known.
  /// Those with later steps may have trained apart, and theirs is the history that stays. False: more
  /// than half agree to each commit, so it is not.
  bool longer_may_lead = true;
};

struct Admission {
  enum class Then {
    kNothing,
    kStays,    ///< It serves already.
    kEnters,   ///< It becomes a member: whether its share counts is for the ledger to say.
    kLeaves,   ///< It serves no more.
    kIsAhead,  ///< As kLeaves; and since when it is ahead is to be remembered.
    kFetches,  ///< Asynchronous: that it was told to fetch now is to be remembered.
    kGather,   ///< The swarm gathers, for `gather_reason`; kLeaves too.
    kDiffers,  ///< Its replicas have other bits of the same updates: who is believed is to be decided.
  };
  Verdict verdict;
  Then then = Then::kNothing;
  std::string gather_reason{};
};

/// Its state is one that was not believed, and another peer of its stage has another one.
bool is_wrong(const PeerId& id, const Roster& roster);
Verdict wait_verdict(Time retry_after, const std::string& reason);
/// From the other serving peers of its stage; without any it waits, unless training is over and it
/// has its own snapshot.
Verdict fetch_verdict(const PeerId& id, const Roster& roster, const Whereabouts& where,
                      const std::string& reason);
Verdict serve_verdict(Step step, Step open_step, const std::string& reason);

/// The node serves or trains, and gets a vote: where what it had is of a line that it gave up, once all its
/// peers, those that have not come yet included, have set that aside and serve.
/// `node_peers`: how many that are, if it was said.
void takes_part(Attendance& attendance, const Roster& roster, const NodeId& node,
                uint32_t node_peers = 0);

/// Peers that may have what is of another line than the one that goes on: those of nodes that gave theirs
/// up, or are apart, until they say that they have set aside what is not shared, and of nodes that have not said yet
/// of which line they are.
std::set<PeerId> of_other_lines(const Attendance& attendance, const Roster& roster);

/// What it is told instead, as long as what it has may be of another line than the one that goes on; nothing:
/// it is not. `agreed`: a plan is made or a step open, or a stage has nothing, so peers have said what there is of
/// that line.
std::optional<Verdict> held_back(const PeerId& id, const Attendance& attendance,
                                 const Roster& roster, bool agreed);

/// What it is told of `forked_in` (see below): 0 while what it has may be of another line, whose forks are no
/// "before", unless it is to set that aside and take back what was before.
ConfigurationNumber told_fork(const PeerId& id, ConfigurationNumber forked_in,
                              const Verdict& verdict, const Attendance& attendance,
                              const Roster& roster);

/// What it is told instead until it has kept aside what it had before the line forked, in `forked_in` first (0:
/// never): it may have to load another state, and drops what is newer then.
std::optional<Verdict> held_before_fork(const PeerId& id, ConfigurationNumber forked_in,
                                        const Roster& roster);

/// All peers train the same step. Requires that `id` is in the roster.
Admission admit_at_step(const PeerId& id, const Roster& roster, const Whereabouts& where, Time now);

/// Every peer is at its own pace: one that is a period behind takes part; one further behind fetches
/// a neighbour's state, and what it has fetched will do, however long that took. At the end
/// replicas are equal.
Admission admit_at_period(const PeerId& id, const Roster& roster, const Whereabouts& where);

}  // namespace swarm::routing
