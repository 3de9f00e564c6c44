/// How fast a node's links are while they have something to carry: what the owner of the sockets
/// tells of them, and what becomes of it in LinksStats. One owner; not thread-safe.
///
/// Microbatches and parts of averages are measured apart: the latter go between neighbours of a stage,
/// and a slow one of those says nothing of the links on which the work goes. States are not measured:
/// they go to who joins.
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
  /// the owner's buffers. A link is busy from the moment a chunk of such mail is ready until it
  /// has left.
  void sending(ConnId conn, const Session* session, uint64_t unsent, TimePoint now);
  /// So many bytes have left. Before sending().
  void left(ConnId conn, uint64_t bytes, TimePoint now);
  /// After `session` took bytes in. A link is busy from the first bytes of such mail's body to
  /// the last: gaps between frames are the sender's.
  void received(ConnId conn, const Session* session, uint64_t bytes, TimePoint now);
  void forget(ConnId conn, TimePoint now);

  /// Fills in the rates.
  void tell(LinksStats& stats, TimePoint now);

 private:
  struct Both {
    LinkMeter sending, receiving;
  };
  Both work_, averages_;
  std::map<ConnId, NodeId> nodes_;
};

}  // namespace swarm::actors::links
