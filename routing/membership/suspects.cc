#include "routing/membership/suspects.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/erase_if.h"
#include "routing/membership/odd_replicas.h"

namespace swarm::routing {

std::set<PeerId> suspects(const Roster::Peers& peers) {
  std::set<PeerId> found;
  for (const auto& [id, peer] : peers) {
    if (!peer.reported || !peer.has_state || !peer.changed_at_rest) continue;
    const bool another =
        std::any_of(peers.begin(), peers.end(), [stage = peer.stage](const auto& one) {
          const PeerFacts& other = one.second;
          return other.stage == stage && other.reported && other.has_state &&
                 !other.changed_at_rest;
        });
    if (another) found.insert(id);
  }
  return found;
}

std::vector<PeerSupply> without(const std::set<PeerId>& suspects,
                                std::vector<PeerSupply> supplies) {
  for (PeerSupply& peer : supplies) {
    if (suspects.count(peer.peer) == 0) continue;
    peer.has_state = false;
    erase_if(peer.snapshots, [at = peer.step](Step step) { return step >= at; });
  }
  return supplies;
}

orders::Note disbelieve(PeerFacts& peer, Step step, const Replica& replica, uint64_t right) {
  peer.wrong_checksum = replica.checksum;
  return {peer.stage, step, facts::ReplicaReplaced{replica, right}};
}

void mark_odd(Roster::Peers& peers, const RecoveryPlan& plan, Orders& out) {
  const Step step = plan.step;
  std::map<Stage, std::vector<Replica>> by_stage;
  for (const auto& [id, peer] : peers)
    if (peer.reported && peer.has_state && peer.step == step && peer.checksum != 0 &&
        peer.checksum_step == step && goes_with(peer.history, plan.history))
      by_stage[peer.stage].push_back({id, peer.checksum, peer.changed_at_rest});
  for (const auto& [stage, replicas] : by_stage) {
    if (replicas.size() < 2) continue;
    const OddReplicas found = odd_replicas(replicas);
    facts::ReplicasCompared compared;
    compared.found.replicas = replicas.size();
    for (const Replica& one : replicas) compared.found.checksums.insert(one.checksum);
    bool told = false;
    for (const Replica& one : found.odd) {
      PeerFacts& peer = peers.at(one.peer);
      if (peer.wrong_checksum == one.checksum) continue;  // known
      if (!std::exchange(told, true)) out.push_back(orders::Note{stage, step, compared});
      out.push_back(disbelieve(peer, step, one, found.right));
    }
  }
}

}  // namespace swarm::routing
