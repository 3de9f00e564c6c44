#include "apps/sim/network_world.h"

#include <algorithm>
#include <caf/send.hpp>

#include "actors/net/errors.h"
#include "common/backoff.h"

namespace swarm::sim::network_detail {

bool World::alive(const NodeId& id) const {
  auto it = nodes.find(id);
  return it != nodes.end() && !it->second.dead;
}

bool World::cut(const NodeId& from, const NodeId& to) const {
  auto it = paths.find({from, to});
  return it != paths.end() && it->second.cut;
}

uint64_t World::session(const NodeId& own, const NodeId& other) const {
  auto it = sides.find({own, other});
  return it == sides.end() ? 0 : it->second.session;
}

std::vector<NodeId> World::linked(const NodeId& own) const {
  std::vector<NodeId> others;
  for (auto it = sides.lower_bound({own, NodeId{}}); it != sides.end() && it->first.first == own;
       ++it)
    if (it->second.session != 0) others.push_back(it->first.second);
  return others;
}

const Node* World::listener(const Endpoint& where) const {
  const Node* found = nullptr;
  auto known = listeners.find(where.port);
  if (known == listeners.end()) return found;
  for (const NodeId& id : known->second) {
    const Node& node = nodes.at(id);
    if (node.info.endpoint == where && (found == nullptr || found->dead)) found = &node;
  }
  return found;
}

nanoseconds World::draw_delay() {
  if (!model) return nanoseconds(0);
  auto delay = random.between(model->min_delay, model->max_delay);
  return random.chance(model->slow) ? delay * 10 : delay;
}

nanoseconds World::draw_silence() {
  return model->silence_limit + random.between(nanoseconds(0), std::chrono::milliseconds(500));
}

void World::after(nanoseconds delay, std::function<void()> work) {
  actors::LocalTask task(std::move(work));
  if (delay.count() <= 0)
    caf::anon_send(wire, actors::run_later_atom::value, task);
  else
    caf::delayed_anon_send(wire, delay, actors::run_later_atom::value, task);
}

// -- links

void World::link_up(const NodeId& a, const NodeId& b) {
  if (a == b || (session(a, b) != 0 && session(a, b) == session(b, a))) return;
  link_down(a, b, "replaced by a new link");
  link_down(b, a, "replaced by a new link");
  ++counts.sessions;
  for (const auto& [own, other] : {Pair{a, b}, Pair{b, a}}) {
    sides[{own, other}] = Side{counts.sessions, false, 0, {}, now()};
    for (auto& s : nodes[own].subscribers)
      caf::anon_send(s, actors::node_up_atom::value, nodes[other].info);
  }
}

void World::link_down(const NodeId& own, const NodeId& other, const std::string& reason) {
  auto side = sides.find({own, other});
  if (side == sides.end() || side->second.session == 0) return;
  side->second.session = 0;
  side->second.down = model.has_value();
  lose_transports(own, other);
  if (!alive(own)) return;
  auto known = proxies.find({own, other});
  if (known != proxies.end())
    for (auto& [name, proxy] : known->second) caf::anon_send(proxy, actors::cut_atom::value);
  for (auto& s : nodes[own].subscribers)
    caf::anon_send(s, actors::node_down_atom::value, nodes[other].info, reason);
}

void World::link_down_after(nanoseconds delay, const NodeId& own, const NodeId& other,
                            const std::string& reason) {
  const uint64_t which = session(own, other);
  if (which == 0) return;
  after(delay, [=] {
    if (session(own, other) == which) link_down(own, other, reason);
  });
}

void World::close_both(const NodeId& a, const NodeId& b, const std::string& reason) {
  link_down(a, b, reason);
  if (!model)
    link_down(b, a, reason);
  else if (!cut(a, b))
    link_down_after(draw_delay(), b, a, reason);
}

void World::ensure_link(const NodeId& from, const NodeId& to, Linked done) {
  if (from == to) return done(nullptr);
  if (!model) {
    link_up(from, to);
    return done(nullptr);
  }
  Side& side = sides[{from, to}];
  if (side.session != 0) return done(nullptr);
  if (side.down || now() < side.retry_at) {
    const Error error{ErrorCode::kLinkLost, "no link to " + to.brief()};
    return done(&error);
  }
  auto& waiting = dials[{from, to}];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  after(draw_delay() * 3, [=] { dialled(from, to, false); });
}

void World::dialled(const NodeId& from, const NodeId& to, bool waited) {
  const bool open = !cut(from, to) && !cut(to, from) && !paths[{from, to}].no_dials;
  const bool there = alive(to) && !nodes[to].paused && open;
  if (session(from, to) == 0 && alive(from) && !there && !waited) {
    const bool refused = !alive(to) && !nodes[to].vanished && open;
    if (!refused) return after(model->dial_timeout, [=] { dialled(from, to, true); });
  }
  auto waiting = std::move(dials[{from, to}]);
  dials.erase({from, to});
  if (!alive(from)) return;
  if (session(from, to) == 0 && !there) {
    Side& side = sides[{from, to}];
    side.retry_at = now() + backoff(++side.failures, 2 * model->min_backoff, model->max_backoff);
    const Error error{ErrorCode::kLinkLost, "cannot dial " + to.brief()};
    for (auto& done : waiting) done(&error);
    caf::anon_send(nodes[from].links, actors::unreached_atom::value, to);
    return;
  }
  link_up(from, to);
  for (auto& done : waiting) done(nullptr);
}

void World::travel(const NodeId& from, const NodeId& to, uint64_t which,
                   std::function<void()> arrive) {
  if (random.chance(model->loss)) return;
  Path& path = paths[{from, to}];
  for (int copies = random.chance(model->duplicate) ? 2 : 1; copies > 0; --copies) {
    auto at = now() + draw_delay() + nodes[from].away + nodes[to].away;
    if (!random.chance(model->reorder)) path.last_arrival = at = std::max(at, path.last_arrival);
    ++path.under_way;
    after(at - now(), [=] {
      --paths[{from, to}].under_way;
      arrived(from, to, which, arrive);
    });
  }
}

void World::arrived(const NodeId& from, const NodeId& to, uint64_t which,
                    const std::function<void()>& arrive) {
  if (!alive(to)) return;
  Path& path = paths[{from, to}];
  if (path.cut) {
    path.held.emplace_back(which, arrive);
    return;
  }
  if (session(to, from) == which) return arrive();
  if (session(from, to) == which) link_down_after(draw_delay(), from, to, "closed by the other");
}

void World::send(const NodeId& from, const ActorId& to, const actors::Mail& mail, uint64_t id) {
  const Error lost{ErrorCode::kLinkLost, "no link to " + to.brief()};
  if (!alive(from)) return;
  if (!alive(to.node) && !model) return answer(id, lost);
  if (failing.count(to) > 0) return answer(id, lost);
  Fate fate = Fate::kDeliver;
  if (silent.count(from) > 0 || silent.count(to.node) > 0)
    fate = Fate::kDrop;
  else if (filter)
    fate = filter(from, to, mail);
  if (fate == Fate::kLinkLost) return answer(id, lost);
  ensure_link(from, to.node, [=](const Error* error) {
    if (error != nullptr) return answer(id, *error);
    if (fate == Fate::kDrop) return;
    if (queue_is_full(from, to.node, mail.body.size()))
      return answer(id,
                    Error{ErrorCode::kOverloaded, "the way to " + to.brief() + " is full", 100});
    const uint64_t transport = transmit(
        from, to.node, [=] { return weigh(mail, to.actor); }, [=] { deliver(from, to, mail, id); });
    auto request = requests.find(id);
    if (transport != 0 && request != requests.end()) request->second.transport = transport;
  });
}

void World::deliver(const NodeId& from, const ActorId& to, const actors::Mail& mail, uint64_t id) {
  Node& node = nodes[to.node];
  if (node.dead) return;
  auto target = node.registered.find(to.actor);
  if (target == node.registered.end()) {
    const Error unknown{ErrorCode::kNotFound, "no actor " + to.brief()};
    if (id != 0)
      transmit(
          to.node, from, [=] { return weigh(unknown); }, [=] { answer(id, unknown); });
    return;
  }
  ++counts.delivered;
  actors::Mail arriving = mail;
  if (from != to.node) {
    arriving.from = from;
    if (const auto sender = nodes.find(from); sender != nodes.end())
      arriving.from_name = sender->second.info.name;
  }
  if (id == 0)
    caf::anon_send(target->second, arriving);
  else
    caf::anon_send(wire, Delivery{target->second, arriving, from, to, id});
}

void World::answer(uint64_t id, Result<actors::Mail> reply) {
  auto it = requests.find(id);
  if (it == requests.end()) return;
  if (reply && reply_filter) reply_filter(it->second.from, *reply);
  if (reply)
    caf::anon_send(it->second.proxy, answer_atom::value, id, *reply);
  else
    caf::anon_send(it->second.proxy, answer_atom::value, id, actors::to_caf(reply.error()));
}

void World::forget_node(const NodeId& own) {
  for (auto it = proxies.lower_bound({own, NodeId{}});
       it != proxies.end() && it->first.first == own;) {
    for (auto& [name, proxy] : it->second)
      caf::anon_send_exit(proxy, caf::exit_reason::user_shutdown);
    it = proxies.erase(it);
  }
  for (auto it = requests.begin(); it != requests.end();)
    it = it->second.from == own ? requests.erase(it) : std::next(it);
}

}  // namespace swarm::sim::network_detail
