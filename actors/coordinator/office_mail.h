/// A coordinator's election by mail: its record in the DHT, the records of the others, and a link to
/// each of them. Whether to take over or to step down is decided in routing/membership/office.h.
/// Used by the coordinator's handlers only.
#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/coordinator/coordinator.h"
#include "actors/coordinator/coordinator_mail.h"
#include "routing/membership/office.h"
#include "routing/membership/tenure.h"

namespace swarm::actors {

class OfficeMail {
 public:
  struct Hooks {
    std::function<bool()> over;                         ///< Training, and its last snapshots.
    std::function<void()> take_over;                    ///< office().term() is the new one.
    std::function<void(const std::string&)> step_down;  ///< Why.
    std::function<proto::SwarmStatusReply()> status;    ///< Told to everybody while active.
  };
  /// `deps` outlives this.
  OfficeMail(caf::event_based_actor* self, const CoordinatorDeps& deps, Hooks hooks);

  routing::Office& office() { return office_; }
  const routing::Office& office() const { return office_; }

  /// Asks the DHT if it is time to; call on every tick.
  void hold_election();
  /// Call on every tick while this node leads. `missing`: while the swarm gathers, a stage that nobody
  /// has registered of. `minority`: fewer voters than needed are here. True: it has handed over, another
  /// node is to try.
  bool hands_over(std::optional<Stage> missing, bool minority);
  /// Other nodes could lead, and not all have tried since a step was opened.
  bool others_may_lead() const {
    return office_.rivals() > 0 && office_.vain() <= office_.rivals();
  }
  /// Tells everybody at once; after every change of the term.
  void publish();
  /// The link to a node is gone.
  void link_down(const NodeId& node);

 private:
  void heard(const std::vector<DhtRecordLocal>& found);
  /// Holds links to these and to nobody else.
  void watch(const std::vector<NodeId>& nodes, const std::map<NodeId, Endpoint>& endpoints);
  void link_to(const NodeId& node, const Endpoint& endpoint);
  void hold(const NodeId& node);
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  caf::event_based_actor* self_;
  const CoordinatorDeps& deps_;
  Hooks hooks_;
  routing::Office office_;
  routing::Tenure tenure_;
  /// Proxies of the candidates that are watched: while they are held their links are not closed.
  std::map<NodeId, caf::actor> held_;
  std::set<NodeId> watched_, dialled_;  ///< Of those, the ones a link is being made to.
};

}  // namespace swarm::actors
