#include "routing/membership/peer_phase.h"

#include <string>

namespace swarm::routing {

const char* PeerPhase::name(At at) {
  switch (at) {
    case At::kStarting:
      return "starting";
    case At::kRegistering:
      return "registering";
    case At::kLoading:
      return "loading";
    case At::kLearning:
      return "learning";
    case At::kServing:
      return "serving";
    case At::kDraining:
      return "draining";
  }
  return "?";
}

Error PeerPhase::refusal() const {
  if (leaves()) return {ErrorCode::kShuttingDown, "the node leaves"};
  return {ErrorCode::kNotReady, std::string("the peer is ") + name(), 100};
}

bool PeerPhase::enter(At to) {
  if (leaves() || at_ == to) return false;
  at_ = to;
  return true;
}

PeerPhase::Leaving PeerPhase::leave(bool has_state) {
  const bool first = at_ != At::kDraining;
  at_ = At::kDraining;
  if (first && !has_state) saved_ = true;
  if (saved_) return Leaving::kGone;
  return first ? Leaving::kSave : Leaving::kWait;
}

Serve serve_in_steps(const PeerProgress& peer, bool serving, Step step, Step open_step) {
  if (!peer.has_state || step != peer.applied) return Serve::kIgnore;
  const bool as_here = open_step == peer.open_step && (serving || !peer.computed_ahead());
  if (as_here) return Serve::kServe;
  if (serving || open_step != peer.applied) return Serve::kIgnore;
  return Serve::kCollapse;
}

}  // namespace swarm::routing
