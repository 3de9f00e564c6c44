/// Where a DHT writer's records are: a repeated store goes to the same nodes without a lookup, for
/// as long as those are known to be right. Pure; one owner.
#pragma once

#include <map>
#include <vector>

#include "routing/dht/dht_key.h"

namespace swarm::routing {

struct KeyReplicas {
  std::vector<Contact> others;  ///< Nearest to the key first.
  bool mine = false;            ///< The writer is among the nearest itself.
};

/// The k nearest of `answered` (nearest to `key` first) and the writer.
KeyReplicas choose_replicas(const DhtKey& key, const NodeId& self, size_t k,
                            std::vector<Contact> answered);

class ReplicaMap {
 public:
  explicit ReplicaMap(size_t k) : k_(k) {}

  void set(const DhtKey& key, KeyReplicas replicas, double now_s);
  /// Null: look up. Valid until the next call of another function.
  const KeyReplicas* find(const DhtKey& key, double now_s, double max_age_s) const;
  /// The contact is alive; keys that it is nearer to than one of their replicas are forgotten.
  void heard_from(const Contact& contact);
  /// The contact failed: the keys that it holds are forgotten.
  void lost(const NodeId& id);

 private:
  struct Entry {
    KeyReplicas replicas;
    double since_s = 0;
  };
  size_t k_;
  std::map<DhtKey, Entry> entries_;  // of the keys written here: few
};

}  // namespace swarm::routing
