/// Gives links up that nobody has a use for (idle_links.h), and forgets nodes that nobody does.
///
/// An actor has a use for a node while it holds one of its proxies. Tools' links stay, and so do
/// links to nodes that could not be dialled again. Works on the tables of one LinksCore, which owns
/// it; frames that it leaves in a session's output are sent by the core.
#pragma once

#include <caf/actor.hpp>
#include <map>
#include <optional>

#include "actors/net/links/conn.h"
#include "actors/net/links/idle_links.h"
#include "actors/net/links/waiting_mail.h"

namespace swarm::actors::links {

/// Proxies of remote actors.
using Proxies = std::map<ActorId, caf::actor>;

class LinkUpkeep {
 public:
  /// All outlive this.
  LinkUpkeep(const LinksOptions& options, Conns& conns, NodeTable& nodes, Proxies& proxies,
             const WaitingMail& waiting);

  /// Looks about once a second; call on every tick.
  void tick(TimePoint now);
  /// The other side has no use for `conn` any more: gives it up, too, if there was no mail for half
  /// of kShortIdle and nobody needs it, or if this side has asked. True: it is needed since: dial.
  bool given_up(ConnId conn, TimePoint now);
  /// The link carries no new mail, and what was under way has arrived: the dialler closes it.
  bool may_end(const Conn& conn, TimePoint now) const;

 private:
  bool needed(const NodeId& node) const;
  /// None: it is needed, or something is under way.
  std::optional<TimePoint> unneeded_since(const Conn& conn) const;
  void retire(ConnId id, Conn& conn, TimePoint now);
  void forget_idle_nodes(TimePoint now);

  const LinksOptions& options_;
  Conns& conns_;
  NodeTable& nodes_;
  Proxies& proxies_;
  const WaitingMail& waiting_;
  TimePoint next_look_{};
};

}  // namespace swarm::actors::links
