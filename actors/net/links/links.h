/// A node's connections to other nodes, and the proxies of remote actors (design Sec. 11).
///
/// One Links actor per node owns dialling, accepting and the table of links. Other actors see
/// remote actors as ordinary caf::actor handles ("proxies") that take Mail.
///
///   mail to Links                               reply       errors
///   (register_atom, string name, actor)         -           mail to `name` goes to this actor
///   (admission_atom, string name, AdmissionPtr) -           see admission.h
///   (resolve_atom, ActorId, Endpoint)           actor       never: the proxy dials on demand; for
///                                                           this node's own id the actor itself
///   (connect_atom, Endpoint)                    NodeInfo    kPeerTimeout, kLinkLost, kRefused
///   (resolve_atom, Endpoint, string actor)      actor       as connect_atom: dials first
///   (subscribe_atom, actor)                     -           it gets (node_up_atom, NodeInfo) and
///                                                           (node_down_atom, NodeInfo, string why)
///   (stats_atom)                                LinksStats
///   (unreached_atom, NodeId)                    -           a dial there has failed: goes to the actor
///                                                           kCallBackName, if there is no link either
///   (cut_atom, NodeId)                          -           closes the link (tests, console)
///   (shape_atom, ShapeOptions)                  -           slows links down (shape/options.h); from
///                                                           this node only: no Mail leads here
///
/// A proxy answers Mail requests with the remote reply, or kLinkLost at once when the link dies,
/// kPeerTimeout when mail.budget has passed. Mail sent without a request travels one way.
/// Mail to an unknown actor name is answered kNotFound.
#pragma once

#include <array>
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "actors/net/links/byte_stream.h"
#include "actors/net/mail.h"
#include "actors/net/options.h"
#include "common/ids.h"

namespace swarm::actors {

using register_atom = caf::atom_constant<caf::atom("register")>;
using resolve_atom = caf::atom_constant<caf::atom("resolve")>;
using connect_atom = caf::atom_constant<caf::atom("dial")>;
using subscribe_atom = caf::atom_constant<caf::atom("subscribe")>;
using node_up_atom = caf::atom_constant<caf::atom("nodeup")>;
using node_down_atom = caf::atom_constant<caf::atom("nodedown")>;
using unreached_atom = caf::atom_constant<caf::atom("unreached")>;
using stats_atom = caf::atom_constant<caf::atom("stats")>;
using cut_atom = caf::atom_constant<caf::atom("cut")>;
using shape_atom = caf::atom_constant<caf::atom("shape")>;

struct NodeInfo {
  NodeId id;
  std::string name;
  Endpoint endpoint;  ///< Where it listens; port 0: nowhere.
  bool is_tool = false;
};

struct LinkStats {
  NodeInfo node;
  std::string remote;   ///< The address that it comes from, or was dialled at; empty: not known.
  bool proven = false;  ///< It has proven the run's key.
  std::array<uint64_t, kTrafficClasses> bytes_sent{};
  std::array<uint64_t, kTrafficClasses> bytes_received{};
  uint64_t messages_sent = 0, messages_received = 0;  ///< Frames, heartbeats included.
  uint64_t queued_bytes = 0;
  uint64_t queued_work_bytes = 0;  ///< Of these, microbatches' on their way there or back.
  uint64_t queued_answer_bytes =
      0;  ///< Likewise, of replies with bodies: who waits for them exists.
  uint32_t pending_requests = 0;
  double round_trip_s = 0;  ///< Moving average over heartbeats; 0: not known yet.
  double up_s = 0;
  /// While this side had something to send there; 0: not known, or no slower than all links together.
  double busy_bytes_per_s = 0;
};

struct LinksStats {
  Endpoint listening;
  std::vector<LinkStats> links;
  std::array<uint64_t, kTrafficClasses> bytes_sent{};  ///< Since start, closed links included.
  std::array<uint64_t, kTrafficClasses> bytes_received{};
  uint64_t messages_sent = 0, messages_received = 0;  ///< Likewise.
  uint64_t refused_hellos = 0;
  uint64_t malformed_frames = 0;
  /// Named, told of or linked, and not yet forgotten. A node that has no link, no waiting mail and
  /// no holder of a proxy is forgotten after a minute without use.
  uint64_t known_nodes = 0;
  /// Of all links together while any was busy; 0: not known (common/link_meter.h).
  double send_bytes_per_s = 0;
  double receive_bytes_per_s = 0;
  /// Likewise, while parts of averages were what kept them busy.
  double averages_send_bytes_per_s = 0;
  double averages_receive_bytes_per_s = 0;
};

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::NodeId)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::ActorId)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::Endpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::NodeInfo)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::LinksStats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::ShapeOptions)

namespace swarm::actors {

/// Real sockets, served by caf::io::broker. Starts listening before it returns.
/// Requires the io::middleman module. `streams` makes what lies between frames and socket (tests).
/// Errors: kIo (address in use), kInvalidArgument (not loopback).
struct ListeningLinks {
  caf::actor links;
  Endpoint endpoint;  ///< As listened on; port filled in.
};
Result<ListeningLinks> spawn_tcp_links(caf::actor_system& system, const LinksOptions& options,
                                       links::StreamFactory streams = links::make_stream);

}  // namespace swarm::actors
