/// Beside each StageServer: takes part in the all-reduce of its stage (design Sec. 6; paper, Sec.
/// 3.2) and moves whole states between peers (Sec. 7). Registered with its Links as
/// "averager.<stage>".
///
///   mail                        reply             errors
///   (average_atom, AverageRound) AverageResult    kLinkLost, kPeerTimeout, kCancelled, kStaleStep,
///                                                 kShapeMismatch, kInvalidArgument, kShuttingDown
///   (abandon_atom, uint64 round) -                (the round's answer becomes kCancelled)
///   (fetch_atom, FetchState)    FetchedState      kNotFound, kLinkLost, kCorruptCheckpoint,
///                                                 kInvalidArgument, kShuttingDown
///   (set_stage_atom, actor)     -                 who answers (freeze_atom)
///   (describe_atom)             string            for the console
///   Mail AveragePart            AveragePartReply  kStaleStep, kShapeMismatch, kInvalidArgument,
///                                                 kOverloaded, kPeerTimeout, kCancelled
///   Mail StateInfo              StateInfoReply    kNotFound, kNotReady, kCorruptCheckpoint, kIo
///   Mail StateChunk             StateChunkReply   kNotFound (ask StateInfo again),
///                                                 kInvalidArgument
///
/// A round. Member i reduces part i of the vector (equal parts). Every member streams its
/// contribution to the other parts in chunks; the answer to a chunk is its encoded mean, sent when
/// all contributions are in. The reducer keeps decode(encode(mean)) itself, and adds contributions
/// in the order of the member list, so all members end with the same bits for every codec.
/// Members without samples send requests without a chunk: "nothing to add, I want the mean".
/// A member that fails, by link, by silence or by its own report, fails the round everywhere.
/// Round ids must grow; an AveragePart of a round that is to come is held until it starts here.
///
/// States  per round: running -> finished (late requests are still answered) | failed.
/// Owns    one result vector per round; held early parts (max_held_bytes); two frozen states.
/// Thread  detached in a running node (it adds up vectors), pooled in tests. Disk reads happen in
///         an actor of their own.
/// Timers  a round's deadline: 8 times the observed seconds per byte, at least a quarter of
///         options.min_deadline once three rounds are known, min_deadline before; the first is
///         given what twice its bytes take at 100 Mb/s. options.state_ttl.
/// Exit    answers what is pending with kShuttingDown.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/node/options.h"
#include "common/buffer.h"
#include "common/ids.h"
#include "storage/checkpoint_store.h"

namespace swarm::actors {

using average_atom = caf::atom_constant<caf::atom("average")>;
using abandon_atom = caf::atom_constant<caf::atom("abandon")>;
using fetch_atom = caf::atom_constant<caf::atom("fetch")>;
/// To the stage server -> FrozenState: a copy of the newest state. Errors: kNotReady.
using freeze_atom = caf::atom_constant<caf::atom("freeze")>;
using set_stage_atom = caf::atom_constant<caf::atom("setstage")>;

/// Another averager, and in a round how much it brings.
struct AverageMember {
  ActorId averager;
  Endpoint endpoint;
  uint64_t samples = 0;  ///< In its gradient sum; unused as a source of state.
};

struct AverageRound {
  uint64_t round = 0;                  ///< Grows from round to round.
  std::vector<AverageMember> members;  ///< The same list, in the same order, at every member.
  uint32_t self = 0;                   ///< This averager's place in `members`.
  /// float32 [n]: un-normalised sum over this peer's samples. May be empty without samples.
  /// Not written by anyone until the round has been answered.
  Buffer gradient;
  uint64_t n = 0;              ///< Elements.
  uint64_t total_samples = 0;  ///< Divisor; >= 1.
};

struct AverageResult {
  Buffer mean;              ///< float32 [n], the same bits at every member.
  double squared_norm = 0;  ///< Of `mean`; not finite if an element is not.
  uint64_t digest = 0;      ///< xxh64 of `mean`.
  double seconds = 0;
};

struct FrozenState {
  Buffer state;  ///< As Stage::save_state().
  uint64_t step = 0;
};

struct FetchState {
  uint32_t stage = 0;
  std::optional<uint64_t> exact_step;  ///< None: the newest on offer.
  std::vector<AverageMember> sources;
  uint64_t max_bytes = 0;  ///< Larger offers are refused before memory is taken; >= 1.
};

struct FetchedState {
  Buffer state;
  uint64_t step = 0;
  std::string source;  ///< For people: who supplied it.
  double seconds = 0;
};

struct AveragerDeps {
  ActorId id;  ///< {this node, "averager.<stage>"}.
  caf::actor links;
  uint32_t stage = 0;
  AveragerOptions options;
  /// This node's snapshots, stream "stage/<k>"; shared, thread-safe; null: none to offer.
  std::shared_ptr<storage::CheckpointStore> store;
  caf::actor stage_server;                 ///< May come later by set_stage_atom.
  bool detached = true;                    ///< False in tests on the deterministic scheduler.
  uint64_t max_held_bytes = 256ull << 20;  ///< Of early parts; beyond it kOverloaded.
};

/// Spawns the actor and registers it with deps.links under deps.id.actor. It lives until it is sent
/// an exit. Requires valid options.
caf::actor spawn_averager(caf::actor_system& system, AveragerDeps deps);

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::Buffer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::AverageRound)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::AverageResult)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FrozenState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FetchState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FetchedState)
