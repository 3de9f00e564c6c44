/// What a Links actor carries out: dials, links, mail on its way. The decisions are made in
/// node_table.h (who is known, which link carries mail), dial_pauses.h, shape/link_shaper.h
/// (what is held back) and session.h; the actor around it (TCP broker or memory network) moves the bytes.
///
/// A connection is known by a ConnId from the moment it is dialled or accepted. Several may lead to
/// the same node for a moment (both sides dialled): the one dialled by the smaller node id carries
/// new mail, the other ends when it has been idle for a while, so that no mail is lost. So ends a link
/// that neither side has a use for (link_upkeep.h).
#pragma once

#include <caf/actor.hpp>
#include <caf/response_promise.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/net/links/conn.h"
#include "actors/net/links/dial_pauses.h"
#include "actors/net/links/link_upkeep.h"
#include "actors/net/links/links.h"
#include "actors/net/links/local_actors.h"
#include "actors/net/links/node_table.h"
#include "actors/net/links/places.h"
#include "actors/net/links/session.h"
#include "actors/net/links/shape/link_shaper.h"
#include "actors/net/links/waiting_mail.h"

namespace swarm::actors::links {

/// What the core needs from the actor that owns it. Called on that actor's thread only.
class LinksHost {
 public:
  virtual ~LinksHost() = default;
  virtual TimePoint now() = 0;
  /// Whether what is dialled there needs no look-up.
  virtual bool is_address(const std::string& host) = 0;
  /// Begins to connect; bytes may be written at once. Failure arrives as LinksCore::closed(), never
  /// from within this call.
  virtual void open(ConnId conn, const Endpoint& endpoint) = 0;
  /// LinksCore::next_chunk(conn) has something.
  virtual void wake_writer(ConnId conn) = 0;
  virtual void set_reading(ConnId conn, bool on) = 0;
  /// LinksCore::carry_due() is to be called at `when`, once; later wishes replace none.
  virtual void call_at(TimePoint when) = 0;
  /// Writes `farewell` if any, then ends the connection. The core has forgotten `conn`.
  virtual void finish(ConnId conn, std::vector<char> farewell) = 0;
  /// Gives mail to a local actor. With id != 0 the answer goes to LinksCore::answered().
  virtual void deliver(ConnId conn, uint64_t id, const caf::actor& target, const Mail& mail) = 0;
  virtual caf::actor make_proxy(const ActorId& id) = 0;
  /// Sends (unreached_atom, NodeId).
  virtual void tell_unreached(const caf::actor& call_back, const NodeId& node) = 0;
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
  /// Dials unless a link leads there already. Errors: kPeerTimeout, kLinkLost, kRefused,
  /// kOverloaded (it has no room for another connection now).
  void connect(const Endpoint& endpoint, Connected done);
  void subscribe(caf::actor subscriber);
  LinksStats stats();
  void cut(const NodeId& node);
  /// A dial to the node has failed, here or by address; its mail is told by itself.
  void unreached(const NodeId& node);
  /// From now on the links are made to be like this; from the node itself, never from others.
  void reshape(ShapeOptions shape);
  /// From a proxy. Without a request (promise.async()) mail goes one way.
  void send(const ActorId& to, const Mail& mail, caf::response_promise promise);

  // From the host.
  /// A connection came in from address `from`; 0: refuse it (too many).
  ConnId accept(const std::string& from = {});
  void received(ConnId conn, const void* data, size_t size);
  /// True: `out` grew by one chunk; write it and ask again when it has left. False: nothing to
  /// send, or the send limit holds it back: wake_writer() follows.
  bool next_chunk(ConnId conn, std::vector<char>& out);
  /// The connection is gone or could not be made.
  void closed(ConnId conn, const Error& why);
  /// Some of what was received has waited for long enough.
  void carry_due();
  /// How large chunks and reads are, and how often tick() is called.
  const LinkShaper& shaper() const { return shaper_; }
  /// What a local actor answered to request `id`.
  void answered(ConnId conn, uint64_t id, const Result<Mail>& answer);
  void budget_released();
  /// Null when the core has forgotten it.
  const Session* session(ConnId conn) const;
  /// Every shaper().tick_every().
  void tick();
  /// Fails everything that waits and ends all links with a farewell.
  void shut_down();

 private:
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
  void lose(ConnId id, const Error& why);
  ConnId linked(const Endpoint& endpoint) const;
  Dial& dial(const Endpoint& endpoint, std::optional<NodeId> meant = std::nullopt);
  void dial_failed(const Endpoint& endpoint, const Error& why);
  void send_on(ConnId id, const std::string& actor, const Mail& mail,
               caf::response_promise promise);

  LinksHost& host_;
  std::shared_ptr<const LinksOptions> options_;  // shared with the sessions
  std::shared_ptr<ReceiveBudget> budget_;        // shared with the sessions and received bodies
  LocalActors local_;
  ConnId next_conn_ = 1;
  Conns conns_;
  NodeTable nodes_;
  ProvenHosts proven_hosts_;
  WaitingMail waiting_;                // for nodes that are dialled
  Proxies proxies_;                    // of nodes_ only
  std::map<std::string, Dial> dials_;  // by Endpoint::text()
  DialPauses pauses_;
  LinksStats closed_;  // sums over links that ended
  std::minstd_rand random_;
  LinkShaper shaper_;
  LinkUpkeep upkeep_;
};

}  // namespace swarm::actors::links
