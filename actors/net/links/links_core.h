/// What a Links actor carries out: dials, links, mail on its way. The decisions are made in
/// node_table.h (who is known, which link carries mail), dial_pauses.h, send_turns.h and
/// session.h; the actor around it (TCP broker or memory network) moves the bytes.
///
/// A connection is known by a ConnId from the moment it is dialled or accepted. Several may lead to
/// the same node for a moment (both sides dialled): the one dialled by the smaller node id carries
/// new mail, the other ends when it has been idle for a while, so that no mail is lost.
#pragma once

#include <caf/actor.hpp>
#include <caf/response_promise.hpp>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/net/links/dial_pauses.h"
#include "actors/net/links/links.h"
#include "actors/net/links/local_actors.h"
#include "actors/net/links/node_table.h"
#include "actors/net/links/send_turns.h"
#include "actors/net/links/session.h"
#include "actors/net/links/waiting_mail.h"

namespace swarm::actors::links {

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
  /// Gets the node that answered at an address.
  using Connected = std::function<void(const Result<NodeInfo>&)>;

  /// `host` owns this. `on_budget` is called from any thread when reading may go on: arrange for
  /// budget_released() on the actor's own.
  LinksCore(LinksHost& host, LinksOptions options, std::function<void()> on_budget);

  const LinksOptions& options() const { return *options_; }
  /// Who takes mail from other nodes under which name, and who is told of nodes.
  LocalActors& local() { return local_; }

  // Mail to the Links actor (actors/net/links/links.h).
  /// `endpoint` port 0: nobody knows where the node listens, or it is this one.
  caf::actor resolve(const ActorId& id, const Endpoint& endpoint);
  /// Dials unless a link leads there already. Errors: kPeerTimeout, kLinkLost, kRefused.
  void connect(const Endpoint& endpoint, Connected done);
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
  /// What a local actor answered to request `id`.
  void answered(ConnId conn, uint64_t id, const Result<Mail>& answer);
  void budget_released();
  /// Null when the core has forgotten it.
  const Session* session(ConnId conn) const;
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
  struct Dial {
    ConnId conn = 0;
    std::vector<Connected> connects;
    std::vector<NodeId> nodes;  // whose mail waits for this dial
  };

  /// Runs what a session's input led to: events, output, end.
  void settle(ConnId id);
  void handle(ConnId id, LinkEvent event);
  void on_up(ConnId id);
  void end(ConnId id);
  bool retired_and_idle(const Conn& conn, TimePoint now) const;
  ConnId linked(const Endpoint& endpoint) const;
  Dial& dial(const Endpoint& endpoint);
  void dial_failed(const Endpoint& endpoint, const Error& why);
  void send_on(ConnId id, const std::string& actor, const Mail& mail,
               caf::response_promise promise);
  void forget_idle_nodes(TimePoint now);

  LinksHost& host_;
  std::shared_ptr<const LinksOptions> options_;  // shared with the sessions
  std::shared_ptr<ReceiveBudget> budget_;        // shared with the sessions and received bodies
  LocalActors local_;
  ConnId next_conn_ = 1;
  std::unordered_map<ConnId, Conn> conns_;
  NodeTable nodes_;
  WaitingMail waiting_;                    // for nodes that are dialled
  std::map<ActorId, caf::actor> proxies_;  // of nodes_ only
  std::map<std::string, Dial> dials_;      // by Endpoint::text()
  DialPauses pauses_;
  LinksStats closed_;  // sums over links that ended
  std::minstd_rand random_;
  SendTurns turns_;
  TimePoint next_forgetting_{};
};

}  // namespace swarm::actors::links
