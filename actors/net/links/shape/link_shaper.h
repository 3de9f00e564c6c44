/// How a node's links are made slower, later and less even than they are: keeps for each connection
/// what ShapeOptions say of it, and owns what holds bytes back. Pure; one owner.
///
///   frames -> SendTurns: the link's own rate, then the node's -> socket
///   links  <- Inlet: delay of each connection <- the node's rate <- socket
#pragma once

#include <map>
#include <string>

#include "actors/net/links/send_turns.h"
#include "actors/net/links/shape/inlet.h"
#include "actors/net/links/shape/options.h"

namespace swarm::actors::links {

class LinkShaper {
 public:
  using TimePoint = SendLimit::TimePoint;

  /// `seed`: of the jitter.
  /// `join_share`: as LinksOptions.
  LinkShaper(std::string own_name, ShapeOptions shape, uint32_t seed,
             double join_share = kJoinShare);

  /// From now on, for all connections. What waits for a delay already keeps its time.
  void reshape(ShapeOptions shape, TimePoint now);

  /// A connection was dialled or accepted; its other side is not known yet.
  void opened(ConnId conn, TimePoint now);
  /// Its other side's hello was accepted.
  void named(ConnId conn, const std::string& peer, TimePoint now);
  void forget(ConnId conn);

  /// Whether nothing is heard from `peer`; empty: its name is not known yet.
  bool cut(const std::string& peer) const { return link_shape(shape_, own_name_, peer).cut; }

  SendTurns& turns() { return turns_; }
  const SendTurns& turns() const { return turns_; }
  Inlet& inlet() { return inlet_; }
  const Inlet& inlet() const { return inlet_; }

  /// How often the owner looks who may go on; who waits for a rate wants it finer.
  std::chrono::milliseconds tick_every() const;

 private:
  void shape(ConnId conn, const std::string& peer, TimePoint now);

  const std::string own_name_;
  ShapeOptions shape_;
  std::map<ConnId, std::string> peers_;  // ""; not known yet
  SendTurns turns_;
  Inlet inlet_;
};

}  // namespace swarm::actors::links
