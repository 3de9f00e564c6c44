/// A network without frames: one fake Links actor per node of one actor system. Mail between nodes
/// goes from handle to handle, so neither tests of actors nor the simulator need sockets or sessions.
/// Bytes take time only where set_rates() or set_pair_rate() gave a rate (wires.h): then mail weighs
/// what its frame weighs on a real link.
///
///   FakeNetwork net(system);
///   caf::actor links = net.add(node_id);  // speaks the Links mail of actors/net/links/links.h
///   net.kill(node_id);                    // the process is gone, links go down
///   net.cut(a, b);                        // what a sends to b does not arrive
///
/// Handles register, resolve (both forms), connect, subscribe, stats, cut. A proxy answers
/// kLinkLost, kPeerTimeout (after mail.budget) and kNotFound as the real one does. Without a model
/// mail arrives in the same moment and links are made by the first mail; with one, links are
/// connections as TCP makes them: dialled, in order, lost at both ends at different times.
/// Thread: made for CAF's test scheduler (one thread); not thread-safe.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/net/links/links.h"
#include "actors/net/mail.h"
#include "apps/sim/random.h"
#include "apps/sim/wires.h"

namespace swarm::sim {

/// What becomes of one piece of mail.
enum class Fate { kDeliver, kLinkLost, kDrop };

/// How mail travels. The times are one way; each is drawn per mail.
struct NetworkModel {
  std::chrono::nanoseconds min_delay = std::chrono::microseconds(100);
  std::chrono::nanoseconds max_delay = std::chrono::milliseconds(2);
  double slow = 0;       ///< Part of the mail that takes ten times max_delay.
  double reorder = 0;    ///< Part of the mail that may overtake and be overtaken.
  double loss = 0;       ///< Part of the mail, requests or answers, that vanishes.
  double duplicate = 0;  ///< Part of the mail that arrives twice.
  /// As LinksOptions: silence after which a link is given up, time for a dial, pauses after failed
  /// dials.
  std::chrono::nanoseconds silence_limit = std::chrono::seconds(5);
  std::chrono::nanoseconds dial_timeout = std::chrono::seconds(3);
  std::chrono::nanoseconds min_backoff = std::chrono::milliseconds(100);
  std::chrono::nanoseconds max_backoff = std::chrono::seconds(5);
  /// As LinksOptions: a link without mail for so long that neither side has a use for is closed; 0:
  /// none ever is.
  std::chrono::nanoseconds idle_close{0};
  /// As LinksOptions: queued from one node to another; beyond it mail with a body is kOverloaded.
  uint64_t send_budget_bytes = 512ull << 20;
};

/// A request that nobody has answered yet.
struct OpenRequest {
  NodeId from;
  ActorId to;
  proto::MessageKind kind = proto::KIND_UNSPECIFIED;
  caf::actor_clock::time_point deadline;  ///< Sent at + budget: the proxy answers by then.
};

/// Pieces of mail and their bytes, as frames with their chunks' headers.
struct TrafficCount {
  uint64_t sent = 0, sent_bytes = 0;
  uint64_t received = 0, received_bytes = 0;
};
using TrafficCounts = std::map<NodeId, std::map<proto::MessageKind, TrafficCount>>;

namespace network_detail {
struct World;
}

/// Owned by the test; must die before the actor system (its destructor ends the fake actors).
class FakeNetwork {
 public:
  explicit FakeNetwork(caf::actor_system& system);
  FakeNetwork(const FakeNetwork&) = delete;
  FakeNetwork& operator=(const FakeNetwork&) = delete;
  ~FakeNetwork();

  /// From now on links behave as `model` says; `seed` draws.
  void set_model(const NetworkModel& model, uint64_t seed);
  /// Only for new mail: the connections stay as they are.
  void change_model(const NetworkModel& model);

  /// From now on, what is under way included. Until the node is killed; a node that starts again is
  /// another one. Needs a model, whose delays come on top.
  void set_rates(const NodeId& id, const LinkRates& rates);
  void set_pair_rate(const NodeId& from, const NodeId& to, double bytes_per_s);
  /// What goes to and from the node takes so much longer, one way. Needs a model.
  void set_distance(const NodeId& id, std::chrono::nanoseconds away);

  /// A new node that listens on 127.0.0.1:`port` (0: a number of its own). Returns its links.
  caf::actor add(const NodeId& id, const std::string& name = "", uint16_t port = 0);
  caf::actor links(const NodeId& id) const;
  Endpoint endpoint(const NodeId& id) const;

  /// As kill -9: all links of the node go down, requests pending on them fail, nobody reaches it.
  /// With `silently` (the machine is gone) the others notice only by its silence. The node's actors
  /// live on, cut off; end them yourself.
  void kill(const NodeId& id, bool silently = false);
  /// SIGSTOP as the others see it: it does not answer dials, and after the silence limit its links
  /// go down. What was sent to it arrives; freeze its actors yourself.
  void pause(const NodeId& id);
  void resume(const NodeId& id);
  /// What `from` sends to `to` waits until heal(), or is lost with the link. Needs a model.
  void cut(const NodeId& from, const NodeId& to);
  void heal(const NodeId& from, const NodeId& to);
  void heal_all();
  /// `from` can no longer make a link to `to`; one that `to` makes carries mail both ways. For ever.
  /// Needs a model.
  void close_to_dials(const NodeId& from, const NodeId& to);

  /// Mail to this one actor is answered kLinkLost from now on.
  void fail(const ActorId& target);
  /// Mail to and from the node vanishes: requests end in kPeerTimeout (a frozen process).
  void silence(const NodeId& id, bool on = true);
  /// Judges every piece of mail that is not doomed already; an empty function delivers all.
  void set_filter(std::function<Fate(const NodeId&, const ActorId&, const actors::Mail&)> filter);

  /// May change a reply before it arrives at the node that asked; an empty function changes none.
  void set_reply_filter(std::function<void(const NodeId& asker, actors::Mail&)> filter);

  uint64_t delivered() const;
  /// Counts what nodes send from now on; mail that is lost on the way counts, heartbeats and hellos,
  /// which this network has none of, do not. Needs a model.
  void count_traffic();
  /// Requires count_traffic().
  const TrafficCounts& traffic() const;
  /// Links closed because nobody needed them.
  uint64_t closed_idle() const;
  /// Nodes that this one is linked to.
  size_t links_of(const NodeId& id) const;
  /// Requests of living nodes without an answer.
  std::vector<OpenRequest> open_requests() const;

  /// Ends the fake actors; called by the destructor.
  void shut_down();

 private:
  std::shared_ptr<network_detail::World> world_;
};

}  // namespace swarm::sim
