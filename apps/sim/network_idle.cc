/// The part of the fake network that closes links which nobody needs, as real links do
/// (actors/net/links/link_upkeep.h): both sides agree, no mail is lost, nobody is told.
#include <algorithm>
#include <set>

#include "apps/sim/network_world.h"

namespace swarm::sim::network_detail {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

/// An actor holds the handle, not only the network.
bool has_users(const caf::actor& actor) {
  return caf::actor_cast<caf::actor_control_block*>(actor)->strong_refs.load() > 1;
}

}  // namespace

bool World::needs(const NodeId& own, const NodeId& other) const {
  const auto known = proxies.find({own, other});
  if (known == proxies.end()) return false;
  for (const auto& [name, proxy] : known->second)
    if (has_users(proxy)) return true;
  return false;
}

/// Where one side cannot dial the other a link stays until that side's next dial finds it, as it does in a
/// swarm, whose links wait for longer than any node between two dials.
nanoseconds World::idle_limit(const NodeId& a, const NodeId& b) const {
  const auto no_dials = [this](const NodeId& from, const NodeId& to) {
    const auto path = paths.find({from, to});
    return path != paths.end() && path->second.no_dials;
  };
  if (!no_dials(a, b) && !no_dials(b, a)) return model->idle_close;
  return std::max(model->idle_close, 2 * (model->dial_timeout + model->max_backoff));
}

void World::close_idle() {
  if (!model || model->idle_close.count() == 0) {
    looks_for_idle = false;
    return;
  }
  after(kLookEvery, [this] { close_idle(); });
  std::set<Pair> busy;
  for (const auto& [id, request] : requests) {
    busy.insert({request.from, request.to.node});
    busy.insert({request.to.node, request.from});
  }
  for (const auto& [number, transport] : transports.under_way) {
    busy.insert({transport.from, transport.to});
    busy.insert({transport.to, transport.from});
  }
  for (const auto& [pair, path] : paths) {
    if (path.under_way == 0) continue;
    busy.insert(pair);
    busy.insert({pair.second, pair.first});
  }
  for (auto& [pair, side] : sides) {
    const auto& [own, other] = pair;
    auto back = sides.find({other, own});
    const bool up = own < other && side.session != 0 && back != sides.end() &&
                    back->second.session == side.session && alive(own) && alive(other);
    if (!up || busy.count(pair) > 0 || cut(own, other) || cut(other, own)) continue;
    if (nodes[own].paused || nodes[other].paused) continue;
    const bool idle = now() - std::max(side.used, back->second.used) >= idle_limit(own, other);
    if (!idle || needs(own, other) || needs(other, own)) continue;
    side.session = back->second.session = 0;
    ++counts.closed_idle;
  }
}

}  // namespace swarm::sim::network_detail
