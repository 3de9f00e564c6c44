#include "routing/membership/latecomers.h"

#include <algorithm>

namespace swarm::routing {
namespace {

/// Peers that came and went are forgotten when there are so many, and no patience is longer.
constexpr size_t kMost = 256;
constexpr uint32_t kLongest = 256;

}  // namespace

void Latecomers::sent_back(const PeerId& peer, Time step, Time now) {
  if (late_.size() >= kMost && late_.count(peer) == 0) late_.clear();
  Late& late = late_[peer];
  if (++late.times < late.patience) return;
  late.times = 0;
  late.patience = std::min(2 * late.patience, kLongest);
  late.until = now + step;
}

bool Latecomers::awaited(Stage stage, const Roster& roster, Time now) const {
  return std::any_of(late_.begin(), late_.end(), [&](const auto& one) {
    const PeerFacts* peer = roster.find(one.first);
    return peer != nullptr && peer->stage == stage && peer->reachable && !peer->serving &&
           now < one.second.until;
  });
}

}  // namespace swarm::routing
