#include "routing/dht/kademlia.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "common/check.h"
#include "common/mix.h"

namespace swarm::routing {
namespace {

void put_big_endian(uint64_t word, uint8_t* out) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<uint8_t>(word >> (56 - 8 * i));
}

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

DhtKey dht_key(const std::string& name) {
  DhtKey key;
  put_big_endian(mix(fnv1a(name)), key.bytes.data());
  put_big_endian(mix(fnv1a(name, mix(fnv1a("")))), key.bytes.data() + 8);
  return key;
}

NodeId xor_distance(const DhtKey& a, const DhtKey& b) {
  NodeId distance;
  for (size_t i = 0; i < distance.bytes.size(); ++i) distance.bytes[i] = a.bytes[i] ^ b.bytes[i];
  return distance;
}

RoutingTable::RoutingTable(NodeId self, size_t k) : self_(self), k_(k) { SWARM_CHECK(k >= 1); }

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
  Entry entry{contact, now_s};
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
  return bucket.live.front().contact;
}

void RoutingTable::failed(const NodeId& id) {
  if (id == self_) return;
  Bucket& bucket = buckets_[bucket_index(id)];
  auto waiting = find_entry(bucket.replacements, id);
  if (waiting != bucket.replacements.end()) bucket.replacements.erase(waiting);
  auto live = find_entry(bucket.live, id);
  if (live == bucket.live.end()) return;
  bucket.live.erase(live);
  if (bucket.replacements.empty()) return;
  Entry entry = bucket.replacements.back();
  bucket.replacements.pop_back();
  auto later = std::find_if(bucket.live.begin(), bucket.live.end(),
                            [&entry](const Entry& e) { return e.seen_s > entry.seen_s; });
  bucket.live.insert(later, entry);
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

void RoutingTable::refreshed(const DhtKey& target, double now_s) {
  if (target != self_) buckets_[bucket_index(target)].refreshed_s = now_s;
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

Lookup::Lookup(DhtKey target, NodeId self, size_t k, size_t alpha,
               const std::vector<Contact>& start)
    : target_(target), self_(self), k_(k), alpha_(alpha), width_(k) {
  SWARM_CHECK(k >= 1 && alpha >= 1);
  for (const Contact& contact : start) add(contact);
}

void Lookup::add(const Contact& contact) {
  if (contact.id == self_) return;
  NodeId distance = xor_distance(target_, contact.id);
  if (by_distance_.count(distance) != 0) return;
  if (by_distance_.size() >= kMaxCandidates) {  // make room among the farthest, or give up
    auto last = std::prev(by_distance_.end());
    if (last->second.state != State::kNew || last->first < distance) return;
    by_distance_.erase(last);
  }
  by_distance_.emplace(distance, Candidate{contact, State::kNew});
}

std::vector<Contact> Lookup::next() {
  std::vector<Contact> ask;
  size_t considered = 0;
  for (auto& [distance, candidate] : by_distance_) {
    if (considered >= width_ || in_flight_ >= alpha_) break;
    if (candidate.state == State::kFailed) continue;
    ++considered;
    if (candidate.state != State::kNew) continue;
    candidate.state = State::kAsked;
    ++in_flight_;
    ask.push_back(candidate.contact);
  }
  return ask;
}

void Lookup::answered(const NodeId& id, const std::vector<Contact>& closer) {
  auto it = by_distance_.find(xor_distance(target_, id));
  if (it == by_distance_.end()) return;
  State before = it->second.state;
  if (before == State::kNew || before == State::kAnswered) return;
  if (before == State::kAsked) --in_flight_;
  it->second.state = State::kAnswered;  // a late answer after failed() is welcome, too
  size_t looked_at = std::min(closer.size(), k_);
  for (size_t i = 0; i < looked_at; ++i) add(closer[i]);
}

void Lookup::failed(const NodeId& id) {
  auto it = by_distance_.find(xor_distance(target_, id));
  if (it == by_distance_.end() || it->second.state != State::kAsked) return;
  it->second.state = State::kFailed;
  --in_flight_;
}

bool Lookup::finished() const {
  size_t considered = 0;
  for (const auto& [distance, candidate] : by_distance_) {
    if (considered >= width_) break;
    if (candidate.state == State::kFailed) continue;
    if (candidate.state != State::kAnswered) return false;
    ++considered;
  }
  return true;
}

std::vector<Contact> Lookup::result() const {
  std::vector<Contact> contacts;
  for (const auto& [distance, candidate] : by_distance_) {
    if (contacts.size() >= k_) break;
    if (candidate.state == State::kAnswered) contacts.push_back(candidate.contact);
  }
  return contacts;
}

}  // namespace swarm::routing
