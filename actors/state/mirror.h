/// Copies a stage's snapshots to the mirror, once they are durable in the node's own store, and takes from
/// it what that store lacks (docs/checkpoint_format.md). One per stage server, where there is a mirror.
///
///   mail                     reply      errors
///   (mirror_atom)            -          none: what fails is an event, and tried again later. Answered when
///                                       all that can be written now is
///   (offers_atom, bool any)  bool       kIo; whether there is something to take, newer than what the
///                                       store has or `any` that it has not
///   (take_atom, bool any)    bool       none: whether a snapshot was taken, the newest; with the next
///                                       call an older one. What is damaged is told and passed over
///
/// Thread  detached in a running node, because the mirror blocks for as long as it likes; pooled in
///         tests. Nobody who trains waits for it.
/// Owns    nothing: the store is shared with the checkpointer (thread-safe).
/// Timers  kMirrorRetry after something that could not be written.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <chrono>
#include <memory>

#include "actors/node/event_log.h"
#include "common/strong_id.h"
#include "storage/checkpoint_store.h"
#include "storage/mirror_folder.h"

namespace swarm::actors {

using mirror_atom = caf::atom_constant<caf::atom("mirror")>;
using offers_atom = caf::atom_constant<caf::atom("offers")>;
using take_atom = caf::atom_constant<caf::atom("take")>;

constexpr std::chrono::seconds kMirrorRetry{60};
/// Failures are told no more often.
constexpr std::chrono::minutes kMirrorTold{10};

struct MirrorDeps {
  storage::MirrorOptions options;
  Stage stage;
  uint32_t num_stages = 1;
  uint32_t keep = 1;  ///< Snapshots in the store, complete steps in the mirror.
  /// This node's snapshots, stream stage_key(stage).
  std::shared_ptr<storage::CheckpointStore> store;
  std::shared_ptr<EventLog> events;  ///< Shared by all actors of the node.
  bool detached = true;              ///< False on the deterministic scheduler.
};

caf::actor spawn_mirror(caf::actor_system& system, MirrorDeps deps);

}  // namespace swarm::actors
