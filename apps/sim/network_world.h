/// The inside of the fake network: who is linked to whom, what is under way. Included by
/// network*.cc and their tests only. All of it runs in the handlers of the actor `wire`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/net/local.h"
#include "apps/sim/network.h"
#include "apps/sim/wire_meters.h"
#include "apps/sim/wires.h"

namespace swarm::sim::network_detail {

using std::chrono::nanoseconds;
using TimePoint = caf::actor_clock::time_point;
using Pair = std::pair<NodeId, NodeId>;

/// (answer_atom, id, Mail) or (answer_atom, id, error), to a proxy.
using answer_atom = caf::atom_constant<caf::atom("fakeanswer")>;

struct Node {
  actors::NodeInfo info;
  caf::actor links;
  std::map<std::string, caf::actor> registered;
  std::vector<caf::actor> subscribers;
  nanoseconds away{0};  ///< Added to the model's delay, each way.
  bool dead = false;
  bool vanished = false;  ///< Dead with its machine: dials get no refusal.
  bool paused = false;
  uint64_t pauses = 0;
};

/// How one node sees its link to another.
struct Side {
  uint64_t session = 0;  ///< 0: not linked.
  bool down = false;     ///< Was linked; not dialled until resolved anew.
  int failures = 0;
  TimePoint retry_at{};
  TimePoint used{};  ///< When it was made, or mail left on it.
};

/// One direction between two nodes.
struct Path {
  bool cut = false;
  bool no_dials = false;  ///< Links are made from the other side only.
  uint64_t cuts = 0;
  TimePoint last_arrival{};
  size_t under_way = 0;  ///< Mail that has left the serial links and has not arrived.
  std::vector<std::pair<uint64_t, std::function<void()>>> held;  ///< (session, what arrives)
};

struct PendingRequest : OpenRequest {
  caf::actor proxy;
  uint64_t transport = 0;  ///< Of the request, while serial links hold it up.
};

/// What one mail weighs on its way: class and bytes of its frame, chunk headers included.
struct Weight {
  proto::MessageKind kind = proto::KIND_UNSPECIFIED;
  actors::TrafficClass traffic = actors::TrafficClass::kControl;
  uint64_t bytes = 0;
};

/// With `to_actor` empty: a reply.
Weight weigh(const actors::Mail& mail, const std::string& to_actor);
Weight weigh(const Error& error);
/// Called only where somebody asks: with rates, or when traffic is counted.
using Weighing = std::function<Weight()>;

/// Mail that serial links hold up.
struct Transport {
  NodeId from, to;
  uint64_t session = 0;
  Weight weight;
  std::function<void()> arrive;
};

/// The serial links, and what is on them.
struct Transports {
  Wires wires;
  WireMeters meters{3}, average_meters{0.1};  // parts of averages are many, and all alike
  std::map<uint64_t, Transport> under_way;    ///< By the number that `wires` knows it by.
  uint64_t next = 0;
  std::optional<TimePoint> wake_at;

  WireMeters* meters_of(const Weight& weight);
  /// Of microbatches that the links hold up, from one to the other.
  uint64_t work_bytes(const NodeId& from, const NodeId& to) const;
};

/// What there has been so far; sessions and requests are numbered by it.
struct Counts {
  uint64_t sessions = 0, requests = 0, delivered = 0;
  uint64_t closed_idle = 0;  ///< Links.
};

struct World {
  using Linked = std::function<void(const Error*)>;  ///< Null: the link is up.

  caf::actor_system* system = nullptr;
  caf::actor wire;  ///< Runs everything that is under way; belongs to no node.
  std::map<NodeId, Node> nodes;
  std::map<uint16_t, std::set<NodeId>> listeners;  ///< By port, the dead included.
  std::set<NodeId> silent;
  std::set<ActorId> failing;
  std::map<Pair, std::map<std::string, caf::actor>> proxies;  ///< By (own, other), actor name.
  std::map<Pair, Side> sides;                                 ///< As the first sees the second.
  std::map<Pair, Path> paths;
  std::map<Pair, std::vector<Linked>> dials;
  std::map<uint64_t, PendingRequest> requests;
  std::function<Fate(const NodeId&, const ActorId&, const actors::Mail&)> filter;
  std::function<void(const NodeId&, actors::Mail&)> reply_filter;
  std::optional<NetworkModel> model;
  Random random{1};
  Transports transports;
  std::optional<TrafficCounts> traffic;  ///< Null: not counted.
  bool looks_for_idle = false;           ///< close_idle() is due.
  Counts counts;
  uint16_t next_port = 10'001;

  TimePoint now() const { return system->clock().now(); }
  bool alive(const NodeId& id) const;
  bool cut(const NodeId& from, const NodeId& to) const;
  uint64_t session(const NodeId& own, const NodeId& other) const;
  std::vector<NodeId> linked(const NodeId& own) const;
  nanoseconds draw_delay();
  nanoseconds draw_silence();
  void after(nanoseconds delay, std::function<void()> work);

  void link_up(const NodeId& a, const NodeId& b);
  /// `own` learns that its link to `other` is gone: pending requests fail, subscribers hear of it.
  void link_down(const NodeId& own, const NodeId& other, const std::string& reason);
  void link_down_after(nanoseconds delay, const NodeId& own, const NodeId& other,
                       const std::string& reason);
  /// `own` closes its link; the other hears of it unless the way there is cut.
  void close_both(const NodeId& own, const NodeId& other, const std::string& reason);
  void ensure_link(const NodeId& from, const NodeId& to, Linked done);
  void dialled(const NodeId& from, const NodeId& to, bool waited);

  /// An actor of `own` holds a proxy of one of `other`.
  bool needs(const NodeId& own, const NodeId& other) const;
  nanoseconds idle_limit(const NodeId& a, const NodeId& b) const;
  /// Closes what has been idle for idle_limit() and is not needed; again every second.
  void close_idle();

  /// `arrive` runs when the mail reaches `to`: once, twice or never. Returns the number of the
  /// transport if serial links hold it up, else 0.
  uint64_t transmit(const NodeId& from, const NodeId& to, const Weighing& weighing,
                    std::function<void()> arrive);
  /// The last byte has left the serial links: what the model has in store for it.
  void travel(const NodeId& from, const NodeId& to, uint64_t which, std::function<void()> arrive);
  /// Moves the serial links on to now, and again when they have something to do.
  void carry();
  /// What is queued from one to the other is lost with its connection.
  void lose_transports(const NodeId& from, const NodeId& to);
  /// The requester waits no longer: a request that has not left is not sent.
  void give_up(uint64_t id);
  /// As a real link answers mail with a body when its send budget is used up.
  bool queue_is_full(const NodeId& from, const NodeId& to, uint64_t body_bytes) const;
  void count(const NodeId& from, const Weight& weight);
  /// Who listens there, living if possible; null: nobody ever did.
  const Node* listener(const Endpoint& where) const;
  void arrived(const NodeId& from, const NodeId& to, uint64_t which,
               const std::function<void()>& arrive);
  /// `id` 0: one way.
  void send(const NodeId& from, const ActorId& to, const actors::Mail& mail, uint64_t id);
  void deliver(const NodeId& from, const ActorId& to, const actors::Mail& mail, uint64_t id);
  void answer(uint64_t id, Result<actors::Mail> reply);
  void forget_node(const NodeId& own);
};

/// Mail that has reached its target's node: the wire asks the target and carries the answer back.
struct Delivery {
  caf::actor target;
  actors::Mail mail;
  NodeId from;
  ActorId to;
  uint64_t id = 0;
};

}  // namespace swarm::sim::network_detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::sim::network_detail::Delivery)
