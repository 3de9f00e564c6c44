/// One replica of one pipeline stage: serves forward and backward, sums gradients, takes part in
/// the closing of steps (paper, Sec. 3.2; design Sec. 4 and 5).
///
///   mail (Mail)       reply             errors
///   ForwardRequest    ForwardReply      kShapeMismatch, kInvalidArgument, kStaleStep, kOverloaded,
///                                       kNotReady, kCancelled, kPeerTimeout, kNoLivePeer,
///                                       kShuttingDown
///   CancelAttempt     -                 (unknown attempts are ignored)
///   CloseStep         CloseStepReply    kStaleTerm, kStaleStep, kNotReady, kNotFound (no such
///                                       average), kInvalidArgument, whatever failed the round
///   CommitStep        CommitStepReply   kStaleTerm, kStaleStep, kNotReady, kNotFound (no such
///                                       average), kNonFinite
///   EndPeriod         EndPeriodReply    kStaleTerm, kStaleStep (the round is over), kNotReady,
///                                       kOverloaded (another round is under way),
///                                       kInvalidArgument, whatever failed the round
///   Restore           Ack               kStaleTerm
///   SaveCheckpoint    Ack               kNotReady, kIo, kPeerTimeout (the disk hangs)
///   local             reply
///   (freeze_atom)     FrozenState       kNotReady; from the state transfer, for a neighbour
///   (range_atom, uint64 first, uint64 count)
///                     RangeOfState      kNotReady, kInvalidArgument; likewise, for a learner
///   (spoiled_atom, uint32 stage, uint64 step)
///                     -                 from the state transfer: a copy that cannot be read
///   (describe_atom)   std::string
///   (drain_atom)      bool              when it has left its stage and its last snapshot is durable; it
///                                       leaves when that still fits drain_limit, or half of that is over
///
/// CloseStep and CommitStep are of the modes with steps, EndPeriod is of the one with periods; the
/// kinds of another mode are answered kInvalidArgument.
///
/// Parts   Microbatches (from arrival to answer), StageUpdates (StepUpdates or PeriodUpdates: how
///         the parameters change), StateKeeper (loading, snapshots), StageMover (to another stage),
///         CopyKeeper (other stages' snapshots). They share a StageContext; what they decide is in
///         routing/ (MicrobatchDesk, MicrobatchWindow, Contributions, PeerPhase, StageMove,
///         SnapshotList).
/// States  kStarting -> kRegistering -> (kLoading or kLearning ->) kServing -> kDraining; kServing
///         falls back to kRegistering when a commit was missed or the swarm goes back.
///         docs/training_protocol.md draws it.
/// Owns    through its compute actor the stage (parameters, optimizer, gradient sum); the queue of
///         resident microbatches; the encoded activations under way to the next stage.
/// Thread  pooled; LibTorch runs in the compute actor's thread, one job at a time, backward first.
/// Timers  announces and registers itself every dht_options.announce_every.
/// Exit    answers everything it holds with kShuttingDown. With user_shutdown: it moves, see move_to.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "actors/node/event_log.h"
#include "actors/node/options.h"
#include "actors/stage/compute.h"
#include "common/strong_id.h"
#include "records/kept_text.h"

namespace swarm::actors {

struct StageServerDeps {
  PeerId id;  ///< Its actor name is registered with `links` by the stage server itself.
  Endpoint endpoint;
  std::string node_name;
  std::string run_id, config_fingerprint;
  Stage stage;
  uint32_t num_stages = 1;
  int32_t sequence = 0;  ///< T; other lengths are refused.
  // Memory of a microbatch between forward and backward (tensor/core/memory_options.h).
  uint64_t kept_bytes_per_sample = 0;        ///< Of the stage's graph.
  uint64_t boundary_bytes_per_sample = 0;    ///< Of what is sent on, or comes back for it.
  uint64_t version_bytes_per_parameter = 0;  ///< Of the forward's parameters; 0: not kept.
  tensor::Codec average_codec = tensor::Codec::kNone;  ///< Of the averager.
  /// It, another codec or the computing rounds: who added what, and when, shows beyond the last bit.
  bool rounds = false;
  /// What that takes from an average is given back in the next one.
  bool feeds_errors_back = false;
  tensor::OptimizerOptions optimizer;
  TrainingOptions training;
  StageServerOptions options;
  StateTransferOptions state_transfer_options;
  DhtOptions dht_options;
  caf::actor mirror;  ///< Null: there is none.
  CopyOptions copies;
  /// The run's, as the node was told; shared by all actors of the node.
  std::shared_ptr<records::KeptText> text = std::make_shared<records::KeptText>();
  FaultOptions faults;
  caf::actor links, dht, compute, averager, state_transfer, checkpointer;
  std::shared_ptr<EventLog> events;  ///< Shared by all actors of the node.
  /// Says which stage the role serves in its next life, which begins when this actor ends with
  /// user_shutdown; called from its thread. Empty: the role stays what it is.
  std::function<void(Stage to)> move_to;
  /// Node.grace_s: what it has under way is finished before it leaves, and its snapshot written.
  std::chrono::milliseconds drain_limit{60'000};
};

caf::actor spawn_stage_server(caf::actor_system& system, StageServerDeps deps);

}  // namespace swarm::actors
