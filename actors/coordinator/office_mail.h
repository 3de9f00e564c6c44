/// A coordinator's election by mail: its record in the DHT, the records of the others, and a link to
/// each of them. Whether to take over or to step down is decided in routing/membership/office.h.
/// Used by the coordinator's handlers only.
#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/coordinator/coordinator.h"
#include "actors/coordinator/coordinator_mail.h"
#include "routing/membership/office.h"

namespace swarm::actors {

class OfficeMail {
 public:
  struct Hooks {
    std::function<bool()> over;                         ///< Training, and its last snapshots.
    std::function<void()> take_over;                    ///< office().term() is the new one.
    std::function<void(const std::string&)> step_down;  ///< Why.
  };
  /// `deps` outlives this.
  OfficeMail(caf::event_based_actor* self, const CoordinatorDeps& deps, Hooks hooks);

  routing::Office& office() { return office_; }
  const routing::Office& office() const { return office_; }

  /// Asks the DHT if it is time to; call on every tick.
  void hold_election();
  /// Tells everybody at once; after every change of the term.
  void publish();
  /// The link to a node is gone.
  void link_down(const NodeId& node);

 private:
  void heard(const std::vector<DhtRecordLocal>& found);
  void link_to(const NodeId& node, const Endpoint& endpoint);
  void hold(const NodeId& node);
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  caf::event_based_actor* self_;
  const CoordinatorDeps& deps_;
  Hooks hooks_;
  routing::Office office_;
  /// Proxies of the candidates that are watched: while they are held their links are not closed.
  std::map<NodeId, caf::actor> held_;
};

}  // namespace swarm::actors
