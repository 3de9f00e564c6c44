#include "routing/membership/replicas.h"

namespace swarm::routing {

Bits Replicas::compare(const PeerId& id) const {
  const PeerFacts& peer = roster_.peers().at(id);
  Bits result = Bits::kEqual;
  for (const PeerId& other : roster_.serving(peer.stage)) {
    const PeerFacts& replica = roster_.peers().at(other);
    if (other == id || replica.checksum == 0) continue;
    if (replica.checksum_step == peer.step)
      return replica.checksum == peer.checksum ? Bits::kEqual : Bits::kOther;
    result = Bits::kNotKnown;  // its commit is under way
  }
  return result;
}

std::optional<StateLabel> Replicas::word_for(const PeerId& id, Step step) const {
  std::optional<StateLabel> word;
  const Stage stage = roster_.peers().at(id).stage;
  const bool served = !roster_.serving(stage).empty();  // the others may never have been compared
  for (const auto& [other, peer] : roster_.peers()) {
    if (other == id || peer.stage != stage || (served && !peer.serving)) continue;
    const bool says = peer.has_state && !peer.commit_pending && peer.checksum != 0;
    if (!says || peer.wrong_checksum != 0 || peer.checksum_step != step) continue;
    const StateLabel label{step, peer.checksum, peer.history};
    if (word && *word != label) return std::nullopt;
    word = label;
  }
  return word;
}

std::optional<ReplicaComparison> Replicas::at(Stage stage, Step step) const {
  ReplicaComparison found;
  for (const auto& [id, peer] : roster_.peers()) {
    if (peer.stage != stage || !peer.serving) continue;
    if (peer.commit_pending || peer.checksum_step != step) return std::nullopt;
    ++found.replicas;
    found.checksums.insert(peer.checksum);
  }
  return found;
}

std::vector<Replica> Replicas::of(Round round, const std::vector<PeerId>& members) const {
  std::vector<Replica> found;
  for (const PeerId& id : members) {
    const PeerFacts* peer = roster_.find(id);
    if (peer == nullptr || !peer->after_round || peer->after_round->round != round) continue;
    found.push_back({id, peer->after_round->checksum, false});
  }
  return found;
}

ReplicaComparison Replicas::after(Round round, const std::vector<PeerId>& members) const {
  ReplicaComparison found;
  for (const Replica& one : of(round, members)) {
    ++found.replicas;
    found.checksums.insert(one.checksum);
  }
  return found;
}

}  // namespace swarm::routing
