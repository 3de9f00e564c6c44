#include "routing/steps/repairs.h"

#include "routing/steps/frame.h"

namespace swarm::routing {

void Repairs::refuse_sum(Frame& frame, const PeerId& id, const std::string& reason) {
  frame.dropped(id);
  PeerFacts* peer = frame.roster.find(id);
  if (peer == nullptr) return;
  peer->sum_refused = true;
  frame.order(orders::AskToRegister{id, reason});
}

void Repairs::struck(Frame& frame, const PeerId& id, const std::string& reason) {
  const auto rest = strikes_.strike(id.node, frame.now);
  PeerFacts* peer = frame.roster.find(id);
  if (!rest || peer == nullptr) return;
  peer->set_aside = true;
  frame.send_back(id, reason);
  frame.note(facts::PeerRests{id, *rest, reason}, peer->stage);
  if (frame.open.ledger) frame.open.ledger->peer_lost(id, /*may_return=*/false);
}

std::optional<Time> Repairs::rests(const PeerId& id, Frame& frame) const {
  const auto rest = strikes_.rests(id.node, frame.now);
  PeerFacts& peer = frame.roster.peers().at(id);
  if (!rest || !frame.is_open() || frame.nothing_to_train() || peer.serving) return std::nullopt;
  peer.set_aside = true;
  return rest;
}

std::vector<Replica> Repairs::replace_odd(Frame& frame, Stage stage, Step step,
                                          const std::vector<Replica>& replicas) {
  const OddReplicas found = odd_replicas(replicas);
  for (const Replica& one : found.odd) {
    frame.order(orders::Note{stage, step, facts::ReplicaReplaced{one, found.right}});
    frame.roster.peers().at(one.peer).wrong_checksum = one.checksum;
    frame.send_back(one.peer, "its replicas have other bits");
  }
  return found.odd;
}

}  // namespace swarm::routing
