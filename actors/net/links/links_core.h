/// What a Links actor decides: who is linked, who is dialled, where mail goes. The actor around it
/// (TCP broker or memory network) moves the bytes.
///
/// A connection is known by a ConnId from the moment it is dialled or accepted. Several may lead to
/// the same node for a moment (both sides dialled): the one dialled by the smaller node id carries
/// new mail, the other ends when it has been idle for a while, so that no mail is lost.
#pragma once

#include <caf/actor.hpp>
#include <caf/response_promise.hpp>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/net/links/links.h"
#include "actors/net/links/send_limit.h"
#include "actors/net/links/session.h"

namespace swarm::actors::links {

using ConnId = uint64_t;
constexpr ConnId kNobody = UINT64_MAX;

/// What the core needs from the actor that owns it. Called on that actor's thread only.
class LinksHost {
 public:
  virtual ~LinksHost() = default;
  virtual TimePoint now() = 0;
  /// Begins to connect; bytes may be written at once. Failure arrives as LinksCore::closed(), never
  /// from within this call.
  virtual void open(ConnId conn, const Endpoint& endpoint) = 0;
  /// LinksCore::next_chunk(conn) has something.
  virtual void wake_writer(ConnId conn) = 0;
  virtual void set_reading(ConnId conn, bool on) = 0;
  /// Writes `farewell` if any, then ends the connection. The core has forgotten `conn`.
  virtual void finish(ConnId conn, std::vector<char> farewell) = 0;
  /// Gives mail to a local actor. With id != 0 the answer goes to LinksCore::answered().
  virtual void deliver(ConnId conn, uint64_t id, const caf::actor& target, const Mail& mail) = 0;
  virtual caf::actor make_proxy(const ActorId& id) = 0;
  /// Sends (node_up_atom, NodeInfo) or (node_down_atom, NodeInfo, reason).
  virtual void tell_up(const caf::actor& subscriber, const NodeInfo& node) = 0;
  virtual void tell_down(const caf::actor& subscriber, const NodeInfo& node,
                         const std::string& reason) = 0;
};

class LinksCore {
 public:
  /// `host` owns this. `on_budget` is called from any thread when reading may go on: arrange for
  /// budget_released() on the actor's own.
  LinksCore(LinksHost& host, LinksOptions options, std::function<void()> on_budget);

  const LinksOptions& options() const { return *options_; }

  // Mail to the Links actor (actors/net/links/links.h).
  void register_actor(const std::string& name, caf::actor actor) { local_[name] = actor; }
  void forget_actor(const caf::actor_addr& address);
  caf::actor resolve(const ActorId& id, const Endpoint& endpoint);
  void connect(const Endpoint& endpoint, caf::response_promise promise);
  void resolve(const Endpoint& endpoint, const std::string& actor, caf::response_promise promise);
  void subscribe(caf::actor subscriber);
  LinksStats stats();
  void cut(const NodeId& node);
  /// From a proxy. Without a request (promise.async()) mail goes one way.
  void send(const ActorId& to, const Mail& mail, caf::response_promise promise);

  // From the host.
  /// A connection came in; 0: refuse it (too many).
  ConnId accept();
  void received(ConnId conn, const void* data, size_t size);
  /// True: `out` grew by one chunk; write it and ask again when it has left. False: nothing to
  /// send, or the send limit holds it back: wake_writer() follows.
  bool next_chunk(ConnId conn, std::vector<char>& out);
  /// Largest chunk that next_chunk() gives, without its header.
  uint32_t max_chunk_bytes() const;
  /// The connection is gone or could not be made.
  void closed(ConnId conn, const Error& why);
  void answered(ConnId conn, uint64_t id, const Mail& mail);
  void answered(ConnId conn, uint64_t id, const Error& error);
  void budget_released();
  bool known(ConnId conn) const { return conns_.count(conn) > 0; }
  bool expects_body(ConnId conn) const;
  /// Every 20 to 50 ms.
  void tick();
  /// Fails everything that waits and ends all links with a farewell.
  void shut_down();

 private:
  struct Conn {
    std::unique_ptr<Session> session;
    Endpoint dialled;  // port 0: accepted
    bool reading = true;
    TimePoint retired_at{};  // not zero: another link to the node carries new mail
    std::map<uint64_t, caf::response_promise> waiting;  // own requests on this link
  };
  struct Waiting {  // mail for a node that is being dialled
    std::string actor;
    Mail mail;
    caf::response_promise promise;
    TimePoint deadline;
  };
  struct Node {
    NodeInfo info;
    Endpoint endpoint;          // where to dial; port 0: not known
    bool down = false;          // was up and is gone; not dialled until resolved anew
    std::vector<ConnId> conns;  // first: carries new mail
    std::deque<Waiting> queue;
    uint64_t queued_bytes = 0;
    std::map<std::string, caf::actor> proxies;
  };
  struct Dial {
    ConnId conn = 0;
    std::vector<caf::response_promise> connects;
    std::vector<std::pair<std::string, caf::response_promise>> resolves;
    std::vector<NodeId> nodes;  // whose mail waits for this dial
  };
  struct Pause {
    int failures = 0;
    TimePoint until{};
    Error why;
  };

  /// Runs what a session's input led to: events, output, end.
  void settle(ConnId id);
  void handle(ConnId id, LinkEvent event);
  void on_up(ConnId id);
  void on_mail(ConnId id, const LinkEvent& event);
  void end(ConnId id);
  void place(Node& node, ConnId id);
  void link_lost(Node& node, ConnId id, const Error& why);
  ConnId linked(const Endpoint& endpoint);
  Dial& dial(const Endpoint& endpoint);
  void dial_failed(const Endpoint& endpoint, const Error& why);
  void queue_mail(Node& node, const NodeId& id, Waiting waiting);
  void flush_queue(Node& node);
  void fail_queue(Node& node, const Error& why);
  void send_on(ConnId id, const std::string& actor, const Mail& mail,
               caf::response_promise promise);
  caf::actor proxy(const ActorId& id);
  void count(const Session& session);
  void wake_held_back();
  static void fail(caf::response_promise& promise, const Error& error);

  LinksHost& host_;
  std::shared_ptr<const LinksOptions> options_;  // shared with the sessions
  std::shared_ptr<ReceiveBudget> budget_;        // shared with the sessions and received bodies
  std::map<std::string, caf::actor> local_;
  std::vector<caf::actor> subscribers_;
  ConnId next_conn_ = 1;
  std::unordered_map<ConnId, Conn> conns_;
  std::unordered_map<NodeId, Node> nodes_;
  std::map<std::string, Dial> dials_;    // by Endpoint::text()
  std::map<std::string, Pause> pauses_;  // by Endpoint::text()
  LinksStats closed_;                    // sums over links that ended
  std::minstd_rand random_;
  SendLimit send_limit_;
  std::vector<ConnId> held_back_;  // by the send limit; who has waited longest first
  ConnId in_turn_ = 0;             // while held_back_ is served: who may send one chunk
};

}  // namespace swarm::actors::links
