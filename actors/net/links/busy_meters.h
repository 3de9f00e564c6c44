/// How fast a node's links are while they have a microbatch to carry: what the owner of the sockets
/// tells of them, and what becomes of it in LinksStats. One owner; not thread-safe.
///
/// Microbatches only: parts of averages go between neighbours of a stage, states to who joins, and a
/// slow one of those says nothing of the links on which the work goes.
#pragma once

#include <map>

#include "actors/net/links/links.h"
#include "actors/net/links/node_table.h"
#include "actors/net/links/session.h"
#include "common/link_meter.h"

namespace swarm::actors::links {

class BusyMeters {
 public:
  /// After chunks of `session` were handed to its socket or have left it: so many bytes are left in
  /// the owner's buffers. A link is busy from the moment a chunk of a microbatch is ready until it
  /// has left.
  void sending(ConnId conn, const Session* session, uint64_t unsent, TimePoint now);
  /// So many bytes have left. Before sending().
  void left(ConnId conn, uint64_t bytes, TimePoint now) { sending_.moved(conn, bytes, now); }
  /// After `session` took bytes in. A link is busy from the first bytes of a microbatch's body to
  /// the last: gaps between frames are the sender's.
  void received(ConnId conn, const Session* session, uint64_t bytes, TimePoint now);
  void forget(ConnId conn, TimePoint now);

  /// Fills in the rates.
  void tell(LinksStats& stats) const;

 private:
  LinkMeter sending_, receiving_;
  std::map<ConnId, NodeId> nodes_;
};

}  // namespace swarm::actors::links
