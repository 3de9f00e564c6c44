/// A network without bytes: one fake Links actor per node of one actor system. Mail between nodes
/// goes from handle to handle, so tests of actors need no frames, sockets or sessions.
///
///   FakeNetwork net(system);
///   caf::actor links = net.add(node_id);            // speaks the Links mail of
///   actors/links/links.h net.kill(node_id);                              // the process is gone,
///   links go down at once net.set_filter([](const NodeId& from, const ActorId& to, const Mail&
///   mail) { ... });
///
/// Handles: register, resolve (both forms), connect, subscribe, stats, cut. A proxy answers
/// kLinkLost, kPeerTimeout (after mail.budget) and kNotFound as the real one does.
/// Thread: made for CAF's test scheduler (one thread); not thread-safe.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/errors.h"
#include "actors/links/links.h"
#include "actors/mail.h"

namespace swarm::test {

/// What becomes of one piece of mail.
enum class Fate { kDeliver, kLinkLost, kDrop };

namespace fake_links_detail {

using fake_expired_atom = caf::atom_constant<caf::atom("fakeexp")>;

struct Node {
  actors::NodeInfo info;
  caf::actor links;
  std::map<std::string, caf::actor> registered;
  std::vector<caf::actor> subscribers;
  bool dead = false;
};

struct World {
  std::map<NodeId, Node> nodes;
  std::set<NodeId> silent;    // mail to and from them vanishes
  std::set<ActorId> failing;  // mail to them is answered kLinkLost
  std::map<std::pair<NodeId, ActorId>, caf::actor> proxies;
  std::set<std::pair<NodeId, NodeId>> linked;
  std::function<Fate(const NodeId&, const ActorId&, const actors::Mail&)> filter;
  uint64_t delivered = 0;

  bool alive(const NodeId& id) const {
    auto it = nodes.find(id);
    return it != nodes.end() && !it->second.dead;
  }
  Fate judge(const NodeId& from, const ActorId& to, const actors::Mail& mail) const {
    if (!alive(from) || !alive(to.node) || failing.count(to) > 0) return Fate::kLinkLost;
    if (silent.count(from) > 0 || silent.count(to.node) > 0) return Fate::kDrop;
    return filter ? filter(from, to, mail) : Fate::kDeliver;
  }
  void link(const NodeId& a, const NodeId& b) {
    if (a == b || !linked.insert(std::minmax(a, b)).second) return;
    for (auto& s : nodes[a].subscribers)
      caf::anon_send(s, actors::node_up_atom::value, nodes[b].info);
    for (auto& s : nodes[b].subscribers)
      caf::anon_send(s, actors::node_up_atom::value, nodes[a].info);
  }
  /// Cuts the link of two nodes: pending requests fail, subscribers hear of it.
  void unlink(const NodeId& a, const NodeId& b, const std::string& reason) {
    if (linked.erase(std::minmax(a, b)) == 0) return;
    for (auto& [key, proxy] : proxies)
      if ((key.first == a && key.second.node == b) || (key.first == b && key.second.node == a))
        caf::anon_send(proxy, actors::cut_atom::value);
    for (auto& s : nodes[a].subscribers)
      caf::anon_send(s, actors::node_down_atom::value, nodes[b].info, reason);
    for (auto& s : nodes[b].subscribers)
      caf::anon_send(s, actors::node_down_atom::value, nodes[a].info, reason);
  }
};

struct ProxyState {
  std::map<uint64_t, caf::typed_response_promise<actors::Mail>> pending;
  uint64_t next = 1;
  static constexpr const char* name = "fake_proxy";

  /// Answers request `id` unless that was done before.
  template <class T>
  void finish(uint64_t id, T&& answer) {
    auto it = pending.find(id);
    if (it == pending.end()) return;
    it->second.deliver(std::forward<T>(answer));
    pending.erase(it);
  }
};

inline caf::behavior fake_proxy(caf::stateful_actor<ProxyState>* self, std::shared_ptr<World> world,
                                NodeId from, ActorId to) {
  return {[=](actors::Mail& mail) -> caf::result<actors::Mail> {
            auto& state = self->state;
            const Fate fate = world->judge(from, to, mail);
            const bool wanted = self->current_mailbox_element()->mid.is_request();
            auto& node = world->nodes[to.node];
            auto target = node.registered.find(to.actor);
            if (fate != Fate::kLinkLost) world->link(from, to.node);
            const bool arrives = fate == Fate::kDeliver && target != node.registered.end();
            if (arrives) ++world->delivered;
            if (!wanted) {  // one way: no answer, no error
              if (arrives) caf::anon_send(target->second, mail);
              return self->make_response_promise<actors::Mail>();
            }
            if (fate == Fate::kLinkLost) return actors::to_caf(ErrorCode::kLinkLost, to.brief());
            if (fate == Fate::kDeliver && !arrives)
              return actors::to_caf(ErrorCode::kNotFound, "no actor " + to.brief());
            const uint64_t id = state.next++;
            auto promise = self->make_response_promise<actors::Mail>();
            state.pending.emplace(id, promise);
            self->delayed_send(self, mail.budget, fake_expired_atom::value, id);
            if (fate == Fate::kDeliver)
              self->request(target->second, caf::infinite, mail)
                  .then([=](actors::Mail& reply) { self->state.finish(id, reply); },
                        [=](const caf::error& error) {
                          self->state.finish(id, actors::to_caf(actors::from_caf(error)));
                        });
            return promise;
          },
          [=](fake_expired_atom, uint64_t id) {
            self->state.finish(id, actors::to_caf(ErrorCode::kPeerTimeout, to.brief()));
          },
          [=](actors::cut_atom) {
            auto pending = std::move(self->state.pending);
            self->state.pending.clear();
            for (auto& [id, promise] : pending)
              promise.deliver(actors::to_caf(ErrorCode::kLinkLost, to.brief()));
          }};
}

inline caf::behavior fake_links(caf::event_based_actor* self, std::shared_ptr<World> world,
                                NodeId own) {
  auto resolve = [=](const ActorId& to) -> caf::actor {
    auto& registered = world->nodes[own].registered;
    auto local = registered.find(to.actor);
    if (to.node == own && local != registered.end()) return local->second;
    auto& proxy = world->proxies[{own, to}];
    if (!proxy) proxy = self->spawn(fake_proxy, world, own, to);
    return proxy;
  };
  auto dial = [=](const Endpoint& where) -> Result<actors::NodeInfo> {
    for (auto& [id, node] : world->nodes) {
      if (node.info.endpoint != where || !world->alive(id) || !world->alive(own)) continue;
      if (world->silent.count(id) > 0 || world->silent.count(own) > 0)
        return Error{ErrorCode::kPeerTimeout, "no hello from " + where.text()};
      world->link(own, id);
      return node.info;
    }
    return Error{ErrorCode::kLinkLost, "nobody listens on " + where.text()};
  };
  return {[=](actors::register_atom, const std::string& name, const caf::actor& actor) {
            world->nodes[own].registered[name] = actor;
          },
          [=](actors::resolve_atom, const ActorId& to, const Endpoint&) { return resolve(to); },
          [=](actors::resolve_atom, const Endpoint& where,
              const std::string& actor) -> caf::result<caf::actor> {
            auto info = dial(where);
            if (!info.ok()) return actors::to_caf(info.error());
            return resolve(ActorId{info->id, actor});
          },
          [=](actors::connect_atom, const Endpoint& where) -> caf::result<actors::NodeInfo> {
            auto info = dial(where);
            if (!info.ok()) return actors::to_caf(info.error());
            return *info;
          },
          [=](actors::subscribe_atom, const caf::actor& subscriber) {
            world->nodes[own].subscribers.push_back(subscriber);
          },
          [=](actors::stats_atom) {
            actors::LinksStats stats;
            stats.listening = world->nodes[own].info.endpoint;
            for (auto& pair : world->linked) {
              if (pair.first != own && pair.second != own) continue;
              actors::LinkStats link;
              link.node = world->nodes[pair.first == own ? pair.second : pair.first].info;
              stats.links.push_back(link);
            }
            return stats;
          },
          [=](actors::cut_atom, const NodeId& other) { world->unlink(own, other, "cut"); }};
}

}  // namespace fake_links_detail

/// Owned by the test; must die before the actor system (its destructor ends the fake actors).
class FakeNetwork {
 public:
  explicit FakeNetwork(caf::actor_system& system)
      : system_(system), world_(std::make_shared<fake_links_detail::World>()) {}
  FakeNetwork(const FakeNetwork&) = delete;
  FakeNetwork& operator=(const FakeNetwork&) = delete;
  ~FakeNetwork() { shut_down(); }

  /// A new node that listens on 127.0.0.1:`port` (0: a number of its own). Returns its links.
  caf::actor add(const NodeId& id, const std::string& name = "", uint16_t port = 0) {
    auto& node = world_->nodes[id];
    node.info.id = id;
    node.info.name = name.empty() ? "node" + std::to_string(world_->nodes.size()) : name;
    node.info.endpoint = Endpoint{"127.0.0.1", port != 0 ? port : next_port_++};
    node.links = system_.spawn(fake_links_detail::fake_links, world_, id);
    return node.links;
  }
  caf::actor links(const NodeId& id) const { return world_->nodes.at(id).links; }
  Endpoint endpoint(const NodeId& id) const { return world_->nodes.at(id).info.endpoint; }

  /// As kill -9: all links of the node go down, requests pending on them fail, nobody reaches it.
  /// The node's actors live on, cut off; end them yourself.
  void kill(const NodeId& id) {
    world_->nodes[id].dead = true;
    for (auto& [other, node] : world_->nodes) world_->unlink(id, other, "killed");
    world_->nodes[id].registered.clear();
    world_->nodes[id].subscribers.clear();
  }
  /// Mail to this one actor is answered kLinkLost from now on.
  void fail(const ActorId& target) { world_->failing.insert(target); }
  /// Mail to and from the node vanishes: requests end in kPeerTimeout (a frozen process).
  void silence(const NodeId& id, bool on = true) {
    on ? void(world_->silent.insert(id)) : void(world_->silent.erase(id));
  }
  /// Judges every piece of mail that is not doomed already; an empty function delivers all.
  void set_filter(std::function<Fate(const NodeId&, const ActorId&, const actors::Mail&)> filter) {
    world_->filter = std::move(filter);
  }
  uint64_t delivered() const { return world_->delivered; }

  /// Ends the fake actors; called by the destructor.
  void shut_down() {
    for (auto& [key, proxy] : world_->proxies)
      caf::anon_send_exit(proxy, caf::exit_reason::user_shutdown);
    for (auto& [id, node] : world_->nodes) {
      caf::anon_send_exit(node.links, caf::exit_reason::user_shutdown);
      node.links = nullptr;
      node.registered.clear();
      node.subscribers.clear();
    }
    world_->proxies.clear();
    world_->filter = nullptr;
  }

 private:
  caf::actor_system& system_;
  std::shared_ptr<fake_links_detail::World> world_;
  uint16_t next_port_ = 10'001;
};

}  // namespace swarm::test
