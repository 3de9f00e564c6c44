#include "apps/sim/network.h"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <map>
#include <utility>

#include "actors/net/errors.h"
#include "actors/net/links/admission.h"
#include "actors/net/requests.h"
#include "apps/sim/network_world.h"
#include "common/names.h"

namespace swarm::sim {
namespace {

using actors::Mail;
using network_detail::answer_atom;
using network_detail::Delivery;
using network_detail::World;
using WorldPtr = std::shared_ptr<World>;

/// Everything under way. A target that ends without an answer is silent: its link says the rest.
caf::behavior wire(caf::event_based_actor* self, WorldPtr world) {
  actors::install_default_handlers(self);
  return {
      [](actors::run_later_atom, const actors::LocalTask& task) { task(); },
      [=](const Delivery& d) {
        auto back = [=](Result<Mail> reply) {
          if (!world->alive(d.to.node)) return;
          auto weighing = [=] {
            return reply ? network_detail::weigh(*reply, "") : network_detail::weigh(reply.error());
          };
          world->transmit(d.to.node, d.from, weighing, [=] { world->answer(d.id, reply); });
        };
        self->request(d.target, caf::infinite, d.mail)
            .then([=](const Mail& reply) { back(reply); },
                  [=](const caf::error& error) { back(actors::from_caf(error)); });
      },
  };
}

struct ProxyState {
  std::map<uint64_t, caf::typed_response_promise<Mail>> pending;
  static constexpr const char* name = "fake_proxy";
};

caf::behavior proxy(caf::stateful_actor<ProxyState>* self, WorldPtr world, NodeId from,
                    ActorId to) {
  auto finish = [=](uint64_t id, auto&& answer) {
    world->requests.erase(id);
    auto promise = self->state.pending.extract(id);
    if (!promise.empty()) promise.mapped().deliver(answer);
  };
  return {
      [=](const Mail& mail) -> caf::result<Mail> {
        if (!self->current_mailbox_element()->mid.is_request()) {
          world->after({}, [=] { world->send(from, to, mail, 0); });
          return self->make_response_promise<Mail>();
        }
        const uint64_t id = ++world->counts.requests;
        auto promise = self->make_response_promise<Mail>();
        self->state.pending.emplace(id, promise);
        auto& request = world->requests[id];
        request.from = from;
        request.to = to;
        request.kind = mail.kind;
        request.deadline = self->clock().now() + mail.budget;
        request.proxy = caf::actor_cast<caf::actor>(self);
        world->after({}, [=] { world->send(from, to, mail, id); });
        world->after(mail.budget, [=] {
          world->give_up(id);
          world->answer(id, Error{ErrorCode::kPeerTimeout, "no answer from " + to.brief()});
        });
        return promise;
      },
      [=](answer_atom, uint64_t id, const Mail& reply) { finish(id, reply); },
      [=](answer_atom, uint64_t id, const caf::error& error) { finish(id, error); },
      [=](actors::cut_atom) {
        auto pending = std::move(self->state.pending);
        self->state.pending.clear();
        for (auto& [id, promise] : pending) {
          world->requests.erase(id);
          promise.deliver(actors::to_caf(ErrorCode::kLinkLost, "lost the link to " + to.brief()));
        }
      },
  };
}

/// Finds who listens; `done` gets the node or why there is none.
void dial(const WorldPtr& world, const NodeId& own, const Endpoint& where,
          std::function<void(Result<actors::NodeInfo>)> done) {
  const network_detail::Node* found = world->listener(where);
  if (found == nullptr || !world->alive(own) || (found->dead && !world->model))
    return done(Error{ErrorCode::kLinkLost, "nobody listens on " + where.text()});
  const auto info = found->info;
  if (world->silent.count(info.id) > 0 || world->silent.count(own) > 0)
    return done(Error{ErrorCode::kPeerTimeout, "no hello from " + where.text()});
  world->sides[{own, info.id}].down = false;
  world->ensure_link(own, info.id, [=](const Error* error) {
    if (error != nullptr) return done(*error);
    done(info);
  });
}

/// Delivers to `promise` what dialling `where` comes to: `value(info)`, or the error. A promise is
/// kept in the actor that made it, own's links: what the wire finds out is told there.
template <class T, class F>
void dial_for(caf::typed_response_promise<T> promise, const WorldPtr& world, const NodeId& own,
              const Endpoint& where, F value) {
  dial(world, own, where, [=](Result<actors::NodeInfo> info) {
    const caf::actor& links = world->nodes[own].links;
    if (!links) return;
    auto deliver = [=]() mutable {
      if (info)
        promise.deliver(value(*info));
      else
        promise.deliver(actors::to_caf(info.error()));
    };
    caf::anon_send(links, actors::run_later_atom::value, actors::LocalTask(deliver));
  });
}

/// A dial has failed: the node asks to be dialled.
void wish_for_call(const WorldPtr& world, const NodeId& own, const NodeId& other) {
  const auto& registered = world->nodes[own].registered;
  const auto actor = registered.find(kCallBackName);
  if (actor == registered.end() || world->session(own, other) != 0) return;
  caf::anon_send(actor->second, actors::unreached_atom::value, other);
}

actors::LinksStats stats_of(const WorldPtr& world, const NodeId& own) {
  actors::LinksStats stats;
  stats.listening = world->nodes.at(own).info.endpoint;
  for (const NodeId& other : world->linked(own)) {
    actors::LinkStats link;
    link.node = world->nodes.at(other).info;
    link.queued_work_bytes = world->transports.work_bytes(own, other);
    stats.links.push_back(link);
  }
  world->transports.meters.tell(world->now(), own, stats);
  world->transports.average_meters.tell_averages(world->now(), own, stats);
  return stats;
}

caf::behavior links(caf::event_based_actor* self, WorldPtr world, NodeId own) {
  auto resolve = [=](const ActorId& to) -> caf::actor {
    auto& registered = world->nodes[own].registered;
    auto local = registered.find(to.actor);
    if (to.node == own && local != registered.end()) return local->second;
    auto& handle = world->proxies[{own, to.node}][to.actor];
    if (!handle) handle = self->spawn(proxy, world, own, to);
    return handle;
  };
  return {
      [=](actors::register_atom, const std::string& name, const caf::actor& actor) {
        world->nodes[own].registered[name] = actor;
      },
      [](actors::admission_atom, const std::string&, const actors::AdmissionPtr&) {},
      [=](actors::resolve_atom, const ActorId& to, const Endpoint&) {
        world->sides[{own, to.node}].down = false;
        return resolve(to);
      },
      [=](actors::resolve_atom, const Endpoint& where, const std::string& actor) {
        auto promise = self->make_response_promise<caf::actor>();
        dial_for(promise, world, own, where, [=](const actors::NodeInfo& info) {
          return resolve(ActorId{info.id, actor});
        });
        return promise;
      },
      [=](actors::connect_atom, const Endpoint& where) {
        auto promise = self->make_response_promise<actors::NodeInfo>();
        dial_for(promise, world, own, where, [](const actors::NodeInfo& info) { return info; });
        return promise;
      },
      [=](actors::subscribe_atom, const caf::actor& subscriber) {
        world->nodes[own].subscribers.push_back(subscriber);
        for (const NodeId& other : world->linked(own))
          caf::anon_send(subscriber, actors::node_up_atom::value, world->nodes[other].info);
      },
      [=](actors::unreached_atom, const NodeId& other) { wish_for_call(world, own, other); },
      [=](actors::stats_atom) { return stats_of(world, own); },
      [=](actors::cut_atom, const NodeId& other) { world->close_both(own, other, "cut"); },
      [](actors::run_later_atom, const actors::LocalTask& task) { task(); },
  };
}

}  // namespace

FakeNetwork::FakeNetwork(caf::actor_system& system) : world_(std::make_shared<World>()) {
  world_->system = &system;
  world_->wire = system.spawn(wire, world_);
}

FakeNetwork::~FakeNetwork() { shut_down(); }

void FakeNetwork::set_model(const NetworkModel& model, uint64_t seed) {
  world_->model = model;
  world_->random = Random(seed);
  if (model.idle_close.count() == 0 || world_->looks_for_idle) return;
  world_->looks_for_idle = true;
  world_->after({}, [world = world_] { world->close_idle(); });
}
void FakeNetwork::change_model(const NetworkModel& model) { world_->model = model; }

void FakeNetwork::set_rates(const NodeId& id, const LinkRates& rates) {
  world_->transports.wires.set_node(world_->now(), id, rates);
  world_->after({}, [world = world_] { world->carry(); });
}

void FakeNetwork::set_distance(const NodeId& id, std::chrono::nanoseconds away) {
  world_->nodes.at(id).away = away;
}

void FakeNetwork::set_pair_rate(const NodeId& from, const NodeId& to, double bytes_per_s) {
  world_->transports.wires.set_pair(world_->now(), from, to, bytes_per_s);
  world_->after({}, [world = world_] { world->carry(); });
}

caf::actor FakeNetwork::add(const NodeId& id, const std::string& name, uint16_t port) {
  auto& node = world_->nodes[id];
  node.info.id = id;
  node.info.name = name.empty() ? "node" + std::to_string(world_->nodes.size()) : name;
  node.info.endpoint = Endpoint{"127.0.0.1", port != 0 ? port : world_->next_port++};
  world_->listeners[node.info.endpoint.port].insert(id);
  node.links = world_->system->spawn(sim::links, world_, id);
  return node.links;
}

caf::actor FakeNetwork::links(const NodeId& id) const { return world_->nodes.at(id).links; }
Endpoint FakeNetwork::endpoint(const NodeId& id) const {
  return world_->nodes.at(id).info.endpoint;
}

void FakeNetwork::kill(const NodeId& id, bool silently) {
  World& world = *world_;
  auto& dead = world.nodes[id];
  dead.dead = true;
  dead.vanished = silently;
  for (auto& [other, node] : world.nodes) {
    if (other == id) continue;
    if (!world.model)
      world.link_down(other, id, "killed");
    else
      world.link_down_after(
          silently || world.cut(id, other) ? world.draw_silence() : world.draw_delay(), other, id,
          silently ? "silent" : "killed");
    auto side = world.sides.find({id, other});
    if (side != world.sides.end()) side->second.session = 0;
    world.lose_transports(id, other);
  }
  world.transports.wires.forget(id);
  dead.registered.clear();
  dead.subscribers.clear();
  world.forget_node(id);
}

void FakeNetwork::pause(const NodeId& id) {
  auto world = world_;
  auto& paused = world->nodes[id];
  paused.paused = true;
  const uint64_t which = ++paused.pauses;
  for (auto& [other_id, node] : world->nodes) {
    const NodeId other = other_id;
    const uint64_t session = world->session(other, id);
    if (session == 0) continue;
    world->after(world->draw_silence(), [=] {
      const auto& node = world->nodes[id];
      if (!node.paused || node.pauses != which || world->session(other, id) != session) return;
      world->close_both(other, id, "silent");
    });
  }
}

void FakeNetwork::resume(const NodeId& id) { world_->nodes[id].paused = false; }

void FakeNetwork::cut(const NodeId& from, const NodeId& to) {
  auto world = world_;
  auto& path = world->paths[{from, to}];
  if (path.cut) return;
  path.cut = true;
  const uint64_t which = ++path.cuts;
  const uint64_t session = world->session(to, from);
  if (session == 0) return;
  world->after(world->draw_silence(), [=] {
    const auto& path = world->paths[{from, to}];
    if (!path.cut || path.cuts != which || world->session(to, from) != session) return;
    world->close_both(to, from, "silent");
  });
}

void FakeNetwork::heal(const NodeId& from, const NodeId& to) {
  auto world = world_;
  auto found = world->paths.find({from, to});
  if (found == world->paths.end() || !found->second.cut) return;
  found->second.cut = false;
  auto held = std::move(found->second.held);
  found->second.held.clear();
  for (auto& [session, arrive] : held) {
    auto at = world->now() + world->draw_delay();
    found->second.last_arrival = at = std::max(at, found->second.last_arrival);
    world->after(at - world->now(),
                 [=, which = session, mail = arrive] { world->arrived(from, to, which, mail); });
  }
  // Half a link that is left: the next heartbeat over it is refused.
  for (const auto& [own, other] : {std::pair{from, to}, std::pair{to, from}})
    if (world->session(own, other) != world->session(other, own))
      world->link_down_after(std::chrono::milliseconds(500), own, other, "closed by the other");
}

void FakeNetwork::close_to_dials(const NodeId& from, const NodeId& to) {
  world_->paths[{from, to}].no_dials = true;
}

void FakeNetwork::heal_all() {
  std::vector<std::pair<NodeId, NodeId>> cut;
  for (const auto& [pair, path] : world_->paths)
    if (path.cut) cut.push_back(pair);
  for (const auto& [from, to] : cut) heal(from, to);
}

void FakeNetwork::fail(const ActorId& target) { world_->failing.insert(target); }
void FakeNetwork::silence(const NodeId& id, bool on) {
  if (on)
    world_->silent.insert(id);
  else
    world_->silent.erase(id);
}
void FakeNetwork::set_filter(
    std::function<Fate(const NodeId&, const ActorId&, const actors::Mail&)> filter) {
  world_->filter = std::move(filter);
}
void FakeNetwork::set_reply_filter(std::function<void(const NodeId&, actors::Mail&)> filter) {
  world_->reply_filter = std::move(filter);
}

uint64_t FakeNetwork::delivered() const { return world_->counts.delivered; }
void FakeNetwork::count_traffic() { world_->traffic.emplace(); }
const TrafficCounts& FakeNetwork::traffic() const { return *world_->traffic; }
uint64_t FakeNetwork::closed_idle() const { return world_->counts.closed_idle; }
size_t FakeNetwork::links_of(const NodeId& id) const { return world_->linked(id).size(); }

std::vector<OpenRequest> FakeNetwork::open_requests() const {
  std::vector<OpenRequest> open;
  for (const auto& [id, request] : world_->requests) open.push_back(request);
  return open;
}

void FakeNetwork::shut_down() {
  if (!world_->wire) return;
  for (auto& [id, node] : world_->nodes) {
    world_->forget_node(id);
    caf::anon_send_exit(node.links, caf::exit_reason::user_shutdown);
    node.links = nullptr;
    node.registered.clear();
    node.subscribers.clear();
  }
  caf::anon_send_exit(world_->wire, caf::exit_reason::user_shutdown);
  world_->wire = nullptr;
  world_->filter = nullptr;
  world_->reply_filter = nullptr;
  world_->dials.clear();
  world_->paths.clear();
  world_->transports.under_way.clear();  // what would arrive holds the world
}

}  // namespace swarm::sim
