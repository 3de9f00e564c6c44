#include "routing/dht/routing_table.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"
#include "common/mix.h"

namespace swarm::routing {

namespace {

std::vector<Contact> nearest_of(std::vector<Contact> contacts, const DhtKey& key, size_t n) {
  auto nearer = [&key](const Contact& a, const Contact& b) {
    return xor_distance(a.id, key) < xor_distance(b.id, key);
  };
  size_t kept = std::min(n, contacts.size());
  auto middle = contacts.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(contacts.begin(), middle, contacts.end(), nearer);
  contacts.resize(kept);
  return contacts;
}

template <class Entries>
auto find_entry(Entries& entries, const NodeId& id) {
  return std::find_if(entries.begin(), entries.end(),
                      [&id](const auto& entry) { return entry.contact.id == id; });
}

}  // namespace

RoutingTable::RoutingTable(NodeId self, size_t k, double ping_after_s)
    : self_(self), k_(k), ping_after_s_(ping_after_s) {
  SWARM_CHECK(k >= 1);
}

/// The number of leading bits shared with self; requires id != self.
size_t RoutingTable::bucket_index(const NodeId& id) const {
  NodeId distance = xor_distance(self_, id);
  size_t index = 0;
  while (((distance.bytes[index / 8] >> (7 - index % 8)) & 1) == 0) ++index;
  return index;
}

std::optional<Contact> RoutingTable::seen(const Contact& contact, double now_s) {
  if (contact.id == self_) return std::nullopt;
  Bucket& bucket = buckets_[bucket_index(contact.id)];
  Entry entry{contact, now_s, now_s};
  auto known = find_entry(bucket.live, contact.id);
  if (known != bucket.live.end()) bucket.live.erase(known);
  if (bucket.live.size() < k_) {
    bucket.live.push_back(entry);
    bucket.refreshed_s = now_s;
    return std::nullopt;
  }
  auto waiting = find_entry(bucket.replacements, contact.id);
  if (waiting != bucket.replacements.end()) bucket.replacements.erase(waiting);
  if (bucket.replacements.size() >= k_) bucket.replacements.erase(bucket.replacements.begin());
  bucket.replacements.push_back(entry);
  Entry& oldest = bucket.live.front();
  if (now_s - oldest.pinged_s < ping_after_s_) return std::nullopt;
  oldest.pinged_s = now_s;
  return oldest.contact;
}

std::optional<Contact> RoutingTable::failed(const NodeId& id) {
  if (id == self_) return std::nullopt;
  Bucket& bucket = buckets_[bucket_index(id)];
  auto waiting = find_entry(bucket.replacements, id);
  if (waiting != bucket.replacements.end()) bucket.replacements.erase(waiting);
  auto live = find_entry(bucket.live, id);
  if (live == bucket.live.end()) return std::nullopt;
  const Contact gone = live->contact;
  bucket.live.erase(live);
  if (bucket.replacements.empty()) return gone;
  Entry entry = bucket.replacements.back();
  bucket.replacements.pop_back();
  auto later = std::find_if(bucket.live.begin(), bucket.live.end(),
                            [&entry](const Entry& e) { return e.seen_s > entry.seen_s; });
  bucket.live.insert(later, entry);
  return gone;
}

std::vector<Contact> RoutingTable::nearest(const DhtKey& key, size_t n) const {
  return nearest_of(all(), key, n);
}

std::optional<DhtKey> RoutingTable::refresh_target(double now_s, double age_s) const {
  size_t oldest = buckets_.size();
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i].live.empty() || now_s - buckets_[i].refreshed_s <= age_s) continue;
    if (oldest == buckets_.size() || buckets_[i].refreshed_s < buckets_[oldest].refreshed_s)
      oldest = i;
  }
  if (oldest == buckets_.size()) return std::nullopt;
  uint64_t seed;
  static_assert(sizeof seed == sizeof now_s);
  std::memcpy(&seed, &now_s, sizeof seed);
  DhtKey target;
  put_big_endian(mix(seed ^ oldest), target.bytes.data());
  put_big_endian(mix(mix(seed ^ oldest)), target.bytes.data() + 8);
  for (size_t i = 0; i <= oldest; ++i) {  // self's bits before `oldest`, the opposite at it
    uint8_t mask = static_cast<uint8_t>(0x80u >> (i % 8));
    bool set = (self_.bytes[i / 8] & mask) != 0;
    if (i == oldest) set = !set;
    target.bytes[i / 8] =
        static_cast<uint8_t>(set ? target.bytes[i / 8] | mask : target.bytes[i / 8] & ~mask);
  }
  return target;
}

size_t RoutingTable::size() const {
  size_t count = 0;
  for (const Bucket& bucket : buckets_) count += bucket.live.size();
  return count;
}

std::vector<Contact> RoutingTable::all() const {
  std::vector<Contact> contacts;
  for (const Bucket& bucket : buckets_)
    for (const Entry& entry : bucket.live) contacts.push_back(entry.contact);
  return contacts;
}

}  // namespace swarm::routing
