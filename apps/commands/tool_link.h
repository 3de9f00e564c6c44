/// For a process that is not a node: one link to one node, to send its actors mail and wait for
/// answers.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <memory>
#include <string>

#include "actors/net/links/links.h"
#include "actors/net/mail.h"
#include "actors/net/system_config.h"
#include "common/result.h"

namespace swarm::apps {

/// Blocking; one thread. Every wait has a deadline.
class ToolLink {
 public:
  ToolLink();
  ~ToolLink();

  /// Opens this side of the link. `key`: the run's, which is proven to nodes that have it; empty:
  /// none, so it may read only. `insists`: who does not prove it in return is refused. Errors: kIo.
  Status open(const std::string& key = {}, bool insists = false);
  /// A proxy of that node's actor. Errors: kPeerTimeout, kLinkLost, kRefused.
  Result<caf::actor> resolve(const Endpoint& node, const std::string& actor);
  /// The same of node `id`, which is dialled when it is sent mail; who else answers at its address is
  /// refused.
  Result<caf::actor> resolve(const NodeId& id, const Endpoint& node, const std::string& actor);
  /// The answer to `mail`, within mail.budget. Errors: the receiver's, kPeerTimeout, kLinkLost.
  Result<actors::Mail> ask(const caf::actor& to, const actors::Mail& mail);

  caf::scoped_actor& self() { return *self_; }

 private:
  actors::SystemConfig config_;
  caf::actor_system system_;
  std::unique_ptr<caf::scoped_actor> self_;
  caf::actor links_;
};

}  // namespace swarm::apps
