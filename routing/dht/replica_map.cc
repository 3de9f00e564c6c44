#include "routing/dht/replica_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace swarm::routing {
namespace {

bool holds(const KeyReplicas& replicas, const NodeId& id) {
  return std::any_of(replicas.others.begin(), replicas.others.end(),
                     [&](const Contact& contact) { return contact.id == id; });
}

}  // namespace

KeyReplicas choose_replicas(const DhtKey& key, const NodeId& self, size_t k,
                            std::vector<Contact> answered) {
  KeyReplicas out{std::move(answered), false};
  if (out.others.size() > k) out.others.resize(k);
  out.mine =
      out.others.size() < k || xor_distance(self, key) < xor_distance(out.others.back().id, key);
  if (out.mine && out.others.size() == k) out.others.pop_back();
  return out;
}

void ReplicaMap::set(const DhtKey& key, KeyReplicas replicas, double now_s) {
  entries_[key] = {std::move(replicas), now_s};
}

const KeyReplicas* ReplicaMap::find(const DhtKey& key, double now_s, double max_age_s) const {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.replicas.others.empty()) return nullptr;
  return now_s - it->second.since_s < max_age_s ? &it->second.replicas : nullptr;
}

void ReplicaMap::heard_from(const Contact& contact) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    const KeyReplicas& replicas = it->second.replicas;
    auto distance = [&](const Contact& of) { return xor_distance(of.id, it->first); };
    const size_t places = k_ - (replicas.mine ? 1 : 0);
    const bool nearer = replicas.others.empty() || replicas.others.size() < places ||
                        distance(contact) < distance(replicas.others.back());
    it = nearer && !holds(replicas, contact.id) ? entries_.erase(it) : std::next(it);
  }
}

void ReplicaMap::lost(const NodeId& id) {
  for (auto it = entries_.begin(); it != entries_.end();)
    it = holds(it->second.replicas, id) ? entries_.erase(it) : std::next(it);
}

}  // namespace swarm::routing
