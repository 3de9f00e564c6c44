/// Leases the slots of a step to trainers, keeps the ledger of who holds what, closes the step
/// (design Sec. 5). One on every trainer node; at most one is active, the others stand by.
///
///   mail (Mail)     from            reply               errors
///   RegisterPeer    StageServer     RegisterPeerReply   kNotReady (stands by), kInvalidArgument, kRefused
///   MayLeave        StageServer     MayLeaveReply       kNotReady
///   Lease           Trainer         LeaseReply          kNotReady, kInvalidArgument (no slots)
///   SlotDone        Trainer         Ack                 kNotReady, kStaleStep, kInvalidArgument
///   VoterLeaves     Voter           Ack, once it may    kNotReady
///   SwarmStatus     console         SwarmStatusReply    kNotReady
///   SaveCheckpoint  console         Ack                 kNotReady, kIo (some peer failed)
///   GoOn            console         Ack                 kNotReady (nothing waits for the rest)
///   MovePeer        console         PlacementReply      kNotFound, kInvalidArgument, kRefused
///   Rebalance       console         PlacementReply      kNotReady (the swarm gathers)
///   local: (describe_atom) -> std::string
///
/// States  stands by <-> gathers (Frame::Phase::kClosed) -> kOpen -> ... -> kFinished; it gathers again
///         when a stage has lost all its peers. Terms fence a coordinator that comes back
///         (routing/membership/election.h). docs/training_protocol.md draws it.
/// Owns    the ledger of the open step and the list of registered peers; never a tensor. Decides by
///         routing/membership (office, roster, gathering, admission, relocation) and routing/steps
///         (schedules, lease desk, save policy); actors/coordinator/coordinator_state.h says how.
/// Thread  pooled. Timers  options.tick.
/// Exit    answers waiting leases with kShuttingDown; a standby takes over.
#pragma once

#include <atomic>
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>
#include <memory>

#include "actors/node/event_log.h"
#include "actors/node/options.h"
#include "records/kept_text.h"

namespace swarm::actors {

struct CoordinatorDeps {
  ActorId id;  ///< Registered with `links` under this name by the coordinator itself.
  Endpoint endpoint;
  std::string node_name;
  uint32_t num_stages = 1;
  int32_t sequence = 0;  ///< T, for tokens per second.
  TrainingOptions training;
  CheckpointOptions checkpoint;
  CoordinatorOptions options;
  DhtOptions dht_options;
  /// As long as a link may be silent before it counts as lost (LinksOptions): peers that are known
  /// and do not report are waited for so long.
  std::chrono::milliseconds silence_limit{5'000};
  caf::actor links, dht;
  /// Set when others cannot dial this node; shared with the node.
  std::shared_ptr<std::atomic<bool>> hard_to_reach = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<EventLog> events;  ///< Shared by all actors of the node.
  std::shared_ptr<records::KeptText> text = std::make_shared<records::KeptText>();  ///< Likewise.
};

caf::actor spawn_coordinator(caf::actor_system& system, CoordinatorDeps deps);

}  // namespace swarm::actors
