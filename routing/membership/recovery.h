/// The step at which a swarm resumes when it starts or when a stage has lost
/// all its live peers: the newest one that every stage can supply (design:
/// state, checkpoints, recovery).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/steps/history.h"

namespace swarm::routing {

/// A snapshot of a stage that its node does not serve (routing/membership/copies.h).
struct StoredCopy {
  Stage stage;
  Step step;
  History history{};  ///< 0: not known.
};

/// What one registered peer has of its stage, and its node of others.
struct PeerSupply {
  PeerId peer;
  Stage stage;
  bool has_state = false;       ///< Parameters in memory, at `step`.
  Step step;                    ///< Meaningless without has_state.
  std::vector<Step> snapshots;  ///< Steps of its complete snapshots of this stage, any order.
  /// Of what is in memory and of the snapshots, by step; missing: not known,
  /// goes with any other.
  std::map<Step, History> histories{};
  std::vector<StoredCopy> copies{};
};

/// Somebody has a state, a snapshot or a copy of one beyond step 0.
bool has_trained(const std::vector<PeerSupply>& peers);

struct RecoveryAction {
  enum class Kind {
    kServe,       ///< Already at the step: keep serving.
    kRestoreOwn,  ///< Load its own snapshot of the step.
    kFetch,       ///< Download the step from one of `sources`.
    kInitialise,  ///< Step 0: draw the parameters from the run's seed.
  };
  Kind kind = Kind::kFetch;
  /// To load, with kRestoreOwn and kFetch.
  Step step;
  /// For kFetch, never empty: peers of the stage with the step in memory, then
  /// those with a snapshot, then those of other stages with a copy of one; each
  /// group ascending by id.
  std::vector<PeerId> sources;
};

struct RecoveryPlan {
  Step step;
  History history;     ///< Of that step, in all stages; 0: nobody knows.
  bool fresh = false;  ///< Nobody has any state or snapshot: step 0, all kInitialise.
  std::map<PeerId, RecoveryAction> actions;
};

/// The history of `step` that every stage has: of several the one that most have, then the smallest; 0:
/// nobody knows any. Nothing: each stage has the step, but of other histories.
std::optional<History> common_history(const std::vector<PeerSupply>& peers, uint32_t num_stages,
                                      Step step);

/// All stages go on from one step of one history: of two that every stage can
/// supply the one that more peers have. While nobody has anything newer than
/// step 0, stages without it are told to draw it from the seed. Pure. Errors:
/// kNoLivePeer (a stage has no peer at all: wait for one), kNotFound (no step
/// of one history that every stage can supply; the detail lists what each stage
/// has. Wait for more peers; never start afresh by itself), kInvalidArgument
/// (stage out of range, a peer listed twice).
Result<RecoveryPlan> plan_recovery(const std::vector<PeerSupply>& peers, uint32_t num_stages);

/// The same for asynchronous training, where stages need not be at one step:
/// what is in memory goes on, a stage without any goes on from its own newest
/// snapshot. The plan's step is the newest of all. Peers of a stage that are
/// two or more behind their newest replica fetch from it.
Result<RecoveryPlan> plan_asynchronous_recovery(const std::vector<PeerSupply>& peers,
                                                uint32_t num_stages);

/// The newest step above `step` that some peer of every stage has in memory, of
/// one history: a part of the swarm that was cut off has trained further. Snapshots do not
/// count: they may be what the swarm went back from. Pure. Requires stages
/// below num_stages.
std::optional<Step> longer_history(const std::vector<PeerSupply>& peers, uint32_t num_stages,
                                   Step step);

}  // namespace swarm::routing
