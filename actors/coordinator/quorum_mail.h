/// Carries out what a coordinator needs the voters' consent for (routing/membership/consent.h): asks
/// them, and tells it their answers. Used by the coordinator's handlers only; never waits.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/net/mail.h"
#include "actors/net/requests.h"
#include "common/ids.h"
#include "routing/membership/consent.h"

namespace swarm::actors {

class QuorumMail {
 public:
  /// `own`: this node. `consent` outlives this. `advanced`: what was waited for may be possible now.
  QuorumMail(caf::event_based_actor* self, const NodeId& own, caf::actor links,
             routing::Consent& consent, std::function<void()> advanced);

  /// A node has registered a peer, or its trainer asks for leases.
  void came(const PeerAddress& address);
  /// VoterLeaves: answered once it may end.
  caf::result<Mail> leaves(const Mail& mail);
  /// Sends what is due. Call at every tick, and whenever something may be to be asked.
  void send();
  void gone(const NodeId& node);
  void clear();

 private:
  void ask(const routing::VoterAsk& ask);
  void ask(const caf::actor& voter, const routing::VoterAsk& ask);
  void answered(const routing::VoterAsk& ask, const Result<routing::VoterReply>& reply);
  /// The configuration that holds, as far as this node knows, with its digest.
  struct Known {
    routing::Configuration configuration;
    uint64_t digest = 0;
  };
  std::shared_ptr<const Known> known();
  void let_go();
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  struct Leaver {
    std::string node_name;
    caf::response_promise may_end;
  };

  caf::event_based_actor* self_;
  NodeId own_;
  std::string own_name_;  ///< "": not known yet.
  caf::actor links_;
  routing::Consent& consent_;
  std::function<void()> advanced_;
  std::map<NodeId, Endpoint> endpoints_;  ///< By process, as are
  std::map<NodeId, caf::actor> voters_;
  std::map<NodeId, Leaver> leavers_;
  std::shared_ptr<const Known> known_;
};

}  // namespace swarm::actors
