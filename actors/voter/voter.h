/// Carries out the rule of a voter (routing/membership/voter.h, docs/one_history.md): its node's answer
/// to coordinators, for all its roles. One on every node that serves stages or trains.
///
///   mail (Mail)     from          reply        errors
///   VoterPromise    Coordinator   VoterReply   kIo, kInvalidArgument, kRefused
///   VoterStore      Coordinator   VoterReply   kIo, kInvalidArgument, kRefused
///   VoterLearn      Coordinator   VoterReply   kIo, kInvalidArgument, kRefused
///   VoterVote       Coordinator   VoterReply   kInvalidArgument, kRefused, kIo (not loaded yet)
///   local: (describe_atom) -> std::string
///          (drain_atom) -> bool  when those that stay have a list without it, or after leave_limit
///
/// What the rule refuses is no error: the reply says `taken` false and why, and tells what the voter
/// has. kIo: the disk failed, and the voter is as it was before. kRefused: the ballot is of another
/// node than the mail, its term jumps (term_lead.h) and the record of the coordinator in the DHT does not say
/// so, or a configuration's number jumps.
///
/// Owns    the record on the disk: a change of it is durable before it is answered, and so is the id that
///         the first process on a disk gives it. Votes write nothing.
/// Thread  detached in a running node, because the disk blocks; pooled in tests.
/// Exit    nothing to do: what was answered is stored. Who leaves in order gives its vote back first
///         (VoterLeaves): of two voters, one that merely ends stops the other.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "actors/node/options.h"
#include "actors/voter/voter_disk.h"
#include "common/ids.h"
#include "routing/membership/voter.h"

namespace swarm::actors {

/// What one process knows besides its disk; nothing: it has not read that yet.
using VoterMemory = std::optional<routing::Voter>;

struct VoterDeps {
  ActorId id;  ///< Registered with `links` under this name, kVoterName, by the voter itself.
  Endpoint endpoint;
  std::string node_name;
  caf::actor links;
  caf::actor dht;  ///< Null: it leaves without a word.
  DhtOptions dht_options;
  std::chrono::milliseconds leave_limit{3'000};
  std::shared_ptr<VoterDisk> disk;  ///< Used by this actor only.
  routing::Voters file;  ///< Nodes that the experiment file lists: configuration 0; may be empty.
  /// Outlives the actor. A voter that failed and was started again in the same process has not
  /// forgotten its votes: coordinators tell processes apart, not lives of actors.
  std::shared_ptr<VoterMemory> memory = std::make_shared<VoterMemory>();
  bool detached = true;
};

caf::actor spawn_voter(caf::actor_system& system, VoterDeps deps);

}  // namespace swarm::actors
