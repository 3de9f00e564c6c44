/// Which nodes of the DHT this one knows: many near it, few far away, the long-lived first
/// (Kademlia, Sec. 2.2 to 2.4). Pure; one owner.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "routing/dht/dht_key.h"

namespace swarm::routing {

class RoutingTable {
 public:
  /// `k`: contacts per bucket. `ping_after_s`: for how long a contact in a full bucket must have been
  /// silent before somebody else may have its place; in a large swarm most of those heard from find
  /// their bucket full.
  RoutingTable(NodeId self, size_t k, double ping_after_s = 0);

  /// The contact was heard from at `now_s`. A full bucket keeps its old contacts (they live
  /// longest) and remembers this one as a replacement; the bucket's least recently seen contact, to
  /// be pinged, is returned then if it has been silent for ping_after_s, once in that time.
  std::optional<Contact> seen(const Contact& contact, double now_s);
  /// The contact failed: removed, and returned if it was one; a remembered replacement takes its place.
  std::optional<Contact> failed(const NodeId& id);
  /// Up to `n` contacts nearest to `key`, nearest first; never self.
  std::vector<Contact> nearest(const DhtKey& key, size_t n) const;
  /// A random-enough key in the bucket that was not refreshed for longest, if longer than `age_s`.
  /// Buckets without contacts are left to the lookup of one's own id. Hearing from a contact
  /// refreshes its bucket.
  std::optional<DhtKey> refresh_target(double now_s, double age_s) const;
  size_t size() const;
  std::vector<Contact> all() const;

 private:
  struct Entry {
    Contact contact;
    double seen_s = 0;
    double pinged_s = 0;
  };
  struct Bucket {
    std::vector<Entry> live;          // least recently seen first
    std::vector<Entry> replacements;  // newest last
    double refreshed_s = 0;
  };
  size_t bucket_index(const NodeId& id) const;
  NodeId self_;
  size_t k_;
  double ping_after_s_;
  std::array<Bucket, 128> buckets_;
};

}  // namespace swarm::routing
