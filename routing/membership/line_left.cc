#include "routing/membership/line_left.h"

#include "common/erase_if.h"

namespace swarm::routing {

KnownPlaces places_of(const std::vector<PeerSupply>& supplies, const std::set<PeerId>& barred) {
  KnownPlaces places;
  const auto add = [&places](Step step, History history) {
    if (history != History()) places.emplace(step, history);
  };
  for (const PeerSupply& peer : supplies) {
    if (barred.count(peer.peer) != 0) continue;
    for (const auto& [step, history] : peer.histories) add(step, history);
    for (const StoredCopy& copy : peer.copies) add(copy.step, copy.history);
  }
  return places;
}

void keep_shared(std::vector<PeerSupply>& supplies, const std::set<PeerId>& barred) {
  const KnownPlaces shared = places_of(supplies, barred);
  for (PeerSupply& peer : supplies) {
    if (barred.count(peer.peer) == 0) continue;
    const auto gone = [&](Step step) {
      const auto known = peer.histories.find(step);
      return known == peer.histories.end() || shared.count(*known) == 0;
    };
    peer.has_state &= !gone(peer.step);
    erase_if(peer.snapshots, gone);
    erase_if(peer.copies, [&shared](const StoredCopy& copy) {
      return shared.count({copy.step, copy.history}) == 0;
    });
  }
}

}  // namespace swarm::routing
