/// Lets a node into its swarm: nothing of it serves before it has met somebody (if it is told to
/// join) and has its name for itself. Says meanwhile what it waits for.
///
/// States  kJoining -> kNaming -> kIn, or kOut (the name is taken). Told by deps.admitted or
///         deps.turned_away, once.
///   kJoining   until the DHT knows another node; at once without `join`. After a second, and then
///              every five, says whom it cannot reach and why: stdout, log, event `waits_to_join`.
///   kNaming    looks the name up in the DHT, claims it, looks again (routing/membership/
///              name_claim.h). A record whose process does not answer at its address is stale.
///   kIn        renews the name's record; asks the node that it joined through, once, whether it can
///              dial back.
/// Thread  pooled; names are looked up and addresses tried on threads of their own.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/node/event_log.h"
#include "actors/node/knocking.h"
#include "actors/node/options.h"

namespace swarm::actors {

struct EntranceDeps {
  NodeId self;
  Endpoint endpoint;  ///< As announced.
  std::string node_name;
  std::vector<Endpoint> join;
  DhtOptions dht_options;
  /// `swarm run` has started the node: it gave the name, and the address is this machine's.
  bool launched = false;
  caf::actor links, dht;
  std::shared_ptr<EventLog> events;
  Knock knock;
  bool detached = true;                         ///< False in tests: knock() runs in the scheduler.
  std::function<void(const std::string&)> say;  ///< A line for people.
  /// What the next machine types; said once the node is in and, if it has joined others, known to be dialled.
  std::function<std::string(const Endpoint& at)> how_to_join = [](const Endpoint&) { return ""; };
  /// The DHT has answered, every few seconds until the node is in; then it is for others to say so.
  std::function<void()> alive = [] {};
  std::function<void()> admitted;
  std::function<void()> turned_away;
  std::function<void()> hard_to_reach = [] {};  ///< Others cannot dial this node.
};

caf::actor spawn_entrance(caf::actor_system& system, EntranceDeps deps);

}  // namespace swarm::actors
