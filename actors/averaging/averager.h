/// Beside each StageServer: takes part in the all-reduce of its stage (design Sec. 6; paper, Sec.
/// 3.2). Registered with its Links as "averager.<place>".
///
///   mail                        reply             errors
///   (average_atom, AverageRound) AverageResult    kLinkLost, kPeerTimeout, kCancelled, kStaleStep,
///                                                 kShapeMismatch, kInvalidArgument, kShuttingDown
///   (abandon_atom, Round round) -                 (the round's answer becomes kCancelled)
///   (describe_atom)             string            for the console
///   Mail AveragePart            AveragePartReply  kStaleStep, kShapeMismatch, kInvalidArgument,
///                                                 kOverloaded, kPeerTimeout, kCancelled
///
/// A round is one AllReduce of options.topology (actors/averaging/all_reduce.h): this actor sends
/// its requests, a few at a time, and answers those of the others as soon as it can.
/// A member that fails, by link, by silence or by its own report, fails the round everywhere. One that
/// cannot be reached from here is named in the result. A part for a member with a `via` goes to that
/// one, which passes it on as it is and the answer back: the sums and their bits are the same.
/// Numbers that are not finite fail it too, and the result names whose they were: a sum is read once
/// more when it is done, by who reduces it (of n elements n / members; measured against the addition, a
/// fifth of it); with a codec that may hide it, the own vector before it is sent.
/// Round ids must grow; an AveragePart of a round that is to come is held until it starts here.
///
/// States  per round: running -> finished (late requests are still answered) | failed.
/// Owns    one result vector per round; held early parts (max_held_bytes).
/// Thread  detached in a running node (it adds up vectors), pooled in tests.
/// Timers  a round's deadline (routing/averaging/round_pace.h). A finished round is forgotten after
///         30 s: nobody is late by that much.
/// Exit    answers what is pending with kShuttingDown.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "actors/averaging/options.h"
#include "common/buffer.h"
#include "common/ids.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "tensor/core/error_feedback.h"

namespace swarm::actors {

using average_atom = caf::atom_constant<caf::atom("average")>;
using abandon_atom = caf::atom_constant<caf::atom("abandon")>;

struct AverageResult {
  Buffer mean;              ///< float32 [n], the same bits at every member.
  double squared_norm = 0;  ///< Of `mean`; finite.
  uint64_t digest = 0;      ///< xxh64 of `mean`.
  double seconds = 0;
  /// For the next round, if this one counts; none: the round had none.
  std::optional<tensor::Residuals> residuals{};
  /// The round was not done by its deadline: others may have longer. `why` says what it waits for, and all
  /// else says nothing but `unreached`.
  bool late = false;
  /// Not empty: the round failed because these members, by their places, could not be reached from
  /// here; `why` says how, and all else says nothing.
  std::vector<uint32_t> unreached{};
  bool link_failed = false;  ///< To them; else nothing came from them in time.
  /// Likewise: their numbers were not finite; this member's own among them if they were.
  std::vector<uint32_t> not_finite{};
  Error why{};
  bool failed() const { return late || !unreached.empty() || !not_finite.empty(); }
};

struct AveragerDeps {
  ActorId id;  ///< {this node, "averager.<place>"}.
  caf::actor links;
  Stage stage;
  AveragerOptions options;
  bool detached = true;                    ///< False in tests on the deterministic scheduler.
  uint64_t max_held_bytes = 256ull << 20;  ///< Of early parts; beyond it kOverloaded.
};

/// Spawns the actor and registers it with deps.links under deps.id.actor. It lives until it is sent
/// an exit. Requires valid options.
caf::actor spawn_averager(caf::actor_system& system, AveragerDeps deps);

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::Round)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::AverageRound)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::AverageResult)
