/// Beside each StageServer: hands its state to neighbours that join or come back, and fetches
/// theirs (design Sec. 7). Registered with its Links as "state.<place>".
///
///   mail                        reply             errors
///   (fetch_atom, FetchState)    FetchedState      kNotFound, kLinkLost, kCorruptCheckpoint,
///                                                 kOverloaded, kInvalidArgument, kShuttingDown
///   (set_stage_atom, actor)     -                 who answers (freeze_atom) and (range_atom)
///   (applied_atom, AppliedMean) -                 the stage server has made an update
///   (expect_atom)               -                 a peer was lost that may come back soon
///   (stands_atom, StandsAt)     -                 its state was replaced
///   (describe_atom)             string            for the console
///   Mail StateInfo              StateInfoReply    kNotFound, kNotReady, kCorruptCheckpoint, kIo,
///                                                 kOverloaded
///   Mail StateChunk             StateChunkReply   kNotFound (ask StateInfo again),
///                                                 kInvalidArgument
///   Mail StateRange             StateRangeReply   kNotReady, kNotFound, kInvalidArgument,
///                                                 kOverloaded
///
/// States  of a fetch: asking who has what -> reading ranges -> answered; back to asking when every
///         source has failed.
/// Owns    two frozen states at most; the memory of each fetch under way; while others learn, the
///         means of the last updates (routing/state/recent_means.h).
/// Thread  detached in a running node (it copies and checks whole states), pooled in tests. The
///         store is read by an actor of its own.
/// Timers  options.ttl of frozen states; pauses before sources are asked again.
/// Exit    answers what is pending with kShuttingDown.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <memory>

#include "actors/state/chunk_keeper.h"
#include "actors/state/options.h"
#include "actors/state/state_messages.h"
#include "common/strong_id.h"
#include "storage/checkpoint_store.h"

namespace swarm::actors {

struct StateTransferDeps {
  ActorId id;  ///< {this node, "state.<place>"}.
  caf::actor links;
  Stage stage;
  StateTransferOptions options;
  /// This node's snapshots, stream stage_key(stage); shared, thread-safe; null: none to offer.
  std::shared_ptr<storage::CheckpointStore> store;
  ChunkKeeperDeps keeper;   ///< Of what is fetched from snapshots.
  caf::actor stage_server;  ///< May come later by set_stage_atom.
  bool detached = true;     ///< False on the deterministic scheduler.
};

/// Spawns the actor and registers it with deps.links under deps.id.actor. It lives until it is sent
/// an exit.
caf::actor spawn_state_transfer(caf::actor_system& system, StateTransferDeps deps);

}  // namespace swarm::actors
