/// Joins the Links actors of one actor system with real frames and
/// sessions, in virtual time, and breaks connections on command.
///
///   MemoryNetwork network;                              // outlives the actor system's actors
///   options.listen = {"node-a", 1};                     // any name; nothing is looked up
///   auto links = spawn_memory_links(*system, options, network);
///   network.cut(a, b); system.run();                    // both sides see the link die
///
/// All methods are thread-safe. Bytes of one connection arrive in the order they were sent.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "actors/net/links/links.h"

namespace swarm::actors {

class MemoryNetwork {
 public:
  using Millis = std::chrono::milliseconds;

  /// One-way delay of every pair, or of one pair (both directions).
  void set_delay(Millis delay);
  void set_delay(const NodeId& a, const NodeId& b, Millis delay);

  /// Bytes that may be under way in each direction of a connection, sent and not yet read by the
  /// other side's Links actor: beyond it a sender waits. 0, as at first: no limit.
  void set_window(uint64_t bytes);

  /// Kills the connections between `a` and `b` (both sides see them closed) and refuses new ones
  /// until heal().
  void cut(const NodeId& a, const NodeId& b);
  /// From now on bytes between `a` and `b` vanish without a word, until heal(): a pulled cable.
  void drop(const NodeId& a, const NodeId& b);
  void heal(const NodeId& a, const NodeId& b);

  /// As kill -9: the node's Links actor ends without a farewell and all its connections close.
  void kill(const NodeId& node);

  /// From where the others see the node's dials come, "host:port"; unset: not known.
  void set_address(const NodeId& node, const std::string& address);

  // For the Links actors.

  /// One side of a connection, as its own Links actor names it.
  using EndId = uint64_t;
  static EndId other(EndId end) { return end ^ 1; }

  std::string address_of_dialler(EndId end);
  void listen(const Endpoint& endpoint, const NodeId& node, caf::actor links);
  void leave(const NodeId& node);
  /// The dialler's end; 0 when nothing listens there or the pair is cut.
  EndId dial(const NodeId& from, const caf::actor& links, const Endpoint& to);
  /// Sends bytes from `end` to the other; false when the connection is gone.
  void send(EndId end, std::string bytes);
  /// Whether the window leaves room; if not, (window_atom, end) follows when it does.
  bool may_send(EndId end);
  /// The Links actor at `end` has read `bytes`.
  void taken(EndId end, uint64_t bytes);
  void close(EndId end);

 private:
  using Pair = std::pair<NodeId, NodeId>;
  struct Side {
    NodeId node;
    caf::actor links;
    std::chrono::steady_clock::time_point last_arrival{};  // of what this side has sent
    uint64_t under_way = 0;                                // of that, not yet read
  };
  struct Wire {
    Side sides[2];
  };
  static Pair pair(const NodeId& a, const NodeId& b) { return {std::min(a, b), std::max(a, b)}; }

  template <class... Ts>
  void post(Wire& wire, int from, const Ts&... message);
  void close_between(const std::function<bool(const Wire&)>& concerns);

  std::mutex mutex_;
  Millis delay_{0};
  uint64_t window_ = 0;
  std::map<Pair, Millis> delays_;
  std::set<Pair> cut_;
  std::set<Pair> dropped_;
  std::map<NodeId, std::string> addresses_;
  std::map<std::string, std::pair<NodeId, caf::actor>> listening_;  // by Endpoint::text()
  std::map<NodeId, caf::actor> nodes_;
  std::map<uint64_t, Wire> wires_;  // by EndId / 2
  uint64_t next_wire_ = 1;
};

/// Links between the Links actors of one actor system, with the same framing and sessions as over
/// sockets, delivered in virtual time. `network` is owned by the test and outlives the actors.
caf::actor spawn_memory_links(caf::actor_system& system, const LinksOptions& options,
                              MemoryNetwork& network);

}  // namespace swarm::actors
