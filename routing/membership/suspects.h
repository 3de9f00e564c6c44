/// Peers of a swarm that gathers whose state is not to be believed: a bit of their memory has turned.
///
/// Pure.
#pragma once

#include <set>
#include <vector>

#include "common/ids.h"
#include "routing/membership/recovery.h"
#include "routing/membership/roster.h"
#include "routing/steps/orders.h"

namespace swarm::routing {

/// Their state was not what it had been when they applied the last update, as they say, and another
/// peer of their stage, of which that is not so, has a state. Nobody was told that they are odd ones
/// (odd_replicas.h): the swarm gathered before the others had applied that update, or at all.
std::set<PeerId> suspects(const Roster::Peers& peers);

/// Without what suspects have of the update that they applied to it, and of later ones.
std::vector<PeerSupply> without(const std::set<PeerId>& suspects, std::vector<PeerSupply> supplies);

/// The peer's state is wrong from now on (PeerFacts::wrong_checksum); what is to be said of it. `right`: the
/// checksum of those that stay.
orders::Note disbelieve(PeerFacts& peer, Step step, const Replica& replica, uint64_t right);

/// Peers with a state of the plan's step and history that are odd ones among the replicas of their stage are not
/// believed.
void mark_odd(Roster::Peers& peers, const RecoveryPlan& plan, Orders& out);

}  // namespace swarm::routing
