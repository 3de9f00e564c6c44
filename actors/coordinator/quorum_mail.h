/// Carries out what a coordinator needs the voters' consent for (routing/membership/consent.h): asks
/// them, and tells it their answers. Used by the coordinator's handlers only; never waits.
#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>

#include "actors/net/requests.h"
#include "common/ids.h"
#include "routing/membership/consent.h"

namespace swarm::actors {

class QuorumMail {
 public:
  /// `consent` outlives this. `advanced`: what was waited for may be possible now.
  QuorumMail(caf::event_based_actor* self, caf::actor links, routing::Consent& consent,
             std::function<void()> advanced);

  /// A node has registered a peer, or its trainer asks for leases.
  void came(const PeerAddress& address);
  /// Sends what is due. Call at every tick, and whenever something may be to be asked.
  void send();
  void gone(const NodeId& node);
  void clear();

 private:
  void ask(const routing::VoterAsk& ask);
  void ask(const caf::actor& voter, const routing::VoterAsk& ask);
  void answered(const routing::VoterAsk& ask, const Result<routing::VoterReply>& reply);
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  caf::event_based_actor* self_;
  caf::actor links_;
  routing::Consent& consent_;
  std::function<void()> advanced_;
  std::map<NodeId, Endpoint> endpoints_;  ///< By process, as are
  std::map<NodeId, caf::actor> voters_;
};

}  // namespace swarm::actors
