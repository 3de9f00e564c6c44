/// Kademlia on mail: finds peers, the coordinator and trainers by name (design Sec. 3). Every node
/// has one, registered with its Links as "dht"; the logic is in routing/dht/.
///
///   mail                                      reply           errors
///   Mail DhtFind                              DhtFindReply    kInvalidArgument, kOverloaded
///   Mail DhtStore                             DhtStoreReply   kInvalidArgument, kOverloaded
///   (dht_store_atom, string, DhtRecordLocal)  -  (acked)      kInvalidArgument, kNoLivePeer
///   (dht_get_atom, string)                    DhtRecords      (none: empty when nothing is known)
///   (dht_sample_atom, string, uint32 most)    DhtRecords      (none: empty when nothing is known)
///   (dht_lookup_text_atom, string)            string          (none)
///   (dht_status_atom)                         DhtStatus       (none)
///   (node_up_atom ...), (node_down_atom ...)  -               from Links
///
/// A name becomes the key dht_key(run_id + "/" + name). A store is acknowledged when the first of
/// the k nearest nodes (this one included) has it; the others follow. A get asks the nearest
/// nodes to the key (looked up now and then: actors/dht/dht_reads.h), merges the answers with this
/// node's own records and keeps per subkey what stands before the others (record_store.h). A sample asks one of them, for `most`
/// records at most; which ones is drawn by this node's id.
///
/// States  joining (routing table empty) <-> joined. While joining, the `join` endpoints are
///         dialled with backoff, for ever; later, those still missing, and some of the contacts that were
///         lost, are tried again at every refresh, so that islands grow together (dht_joining.h).
/// Owns    the routing table and the records it keeps for others (bounded: RecordStore::Options). What it
///         does for each other node is bounded, too (routing/dht/asker_budget.h).
/// Thread  pooled; never blocks.
/// Timers  refresh every options.refresh_every; each request has options.request_timeout, a lookup
///         at most 10 of them.
/// Exit    answers lookups under way with kShuttingDown.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "actors/node/options.h"
#include "common/ids.h"
#include "routing/dht/dht_key.h"

namespace swarm::actors {

using dht_store_atom = caf::atom_constant<caf::atom("dhtstore")>;
using dht_get_atom = caf::atom_constant<caf::atom("dhtget")>;
using dht_sample_atom = caf::atom_constant<caf::atom("dhtsample")>;
using dht_status_atom = caf::atom_constant<caf::atom("dhtstatus")>;
using dht_lookup_text_atom = caf::atom_constant<caf::atom("dhtlookup")>;

/// One value under (name, subkey), as a caller sees it.
struct DhtRecordLocal {
  std::string subkey;  ///< At most 128 bytes, not empty.
  std::string value;   ///< At most 4 KiB.
  /// Must grow with every store of the same subkey; a lower one never replaces a higher one.
  uint64_t version = 0;
  std::chrono::milliseconds ttl{4'000};  ///< Time left to live; 1 ms to 1 hour.
  /// Of what was found: it came from its writer, says the node that had it; else somebody passed it on.
  bool first_hand = false;
};
using DhtRecords = std::vector<DhtRecordLocal>;  ///< Sorted by subkey, each subkey once.

/// An address of `join` that could not be dialled.
struct JoinFailure {
  Endpoint endpoint;
  Error error;
};

struct DhtStatus {
  std::vector<routing::Contact> contacts;
  uint64_t records = 0;                    ///< Kept here, for others and itself.
  bool joined = false;                     ///< At least one contact is known.
  std::vector<JoinFailure> join_failures;  ///< Of each address the last dial's, if it failed.
};

struct DhtDeps {
  NodeId self;
  /// Where this node listens, as told to others. Port 0: others never learn of it, yet it may ask.
  Endpoint endpoint;
  caf::actor links;
  DhtOptions options;
  std::string run_id;
  std::vector<Endpoint> join;  ///< Any nodes of the swarm; its own endpoint does no harm.
};

/// Spawns the actor, registers it with deps.links as "dht" and subscribes it there. It lives until
/// it is sent an exit.
caf::actor spawn_dht_node(caf::actor_system& system, DhtDeps deps);

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::DhtRecordLocal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::DhtRecords)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::DhtStatus)
