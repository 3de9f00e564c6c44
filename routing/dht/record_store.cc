#include "routing/dht/record_store.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace swarm::routing {

namespace {

constexpr double kClearEvery_s = 1;  // a full store is asked often

uint64_t bytes_of(const StoredRecord& record) {
  constexpr uint64_t kBeside = 384;  // of a place in the maps
  return record.subkey.size() + record.value.size() + kBeside;
}

/// As it travels.
uint64_t said_bytes(const StoredRecord& record) {
  constexpr uint64_t kBeside = 32;
  return record.subkey.size() + record.value.size() + kBeside;
}

/// Takes `less` off what `of` has; nothing is left of an entry without anything.
template <class Key, class Count>
void take_off(std::map<Key, Count>& counts, const Key& of, Count less) {
  const auto it = counts.find(of);
  if ((it->second -= less) == 0) counts.erase(it);
}

}  // namespace

RecordStore::RecordStore(const Options& options) : options_(options) {}

bool RecordStore::store(const DhtKey& key, const StoredRecord& record, double now_s) {
  if (record.value.size() > options_.max_value_bytes) return false;
  if (record.subkey.size() > options_.max_subkey_bytes) return false;
  if (!(record.expires_s > now_s)) return false;
  StoredRecord kept = record;
  kept.given_s = now_s;
  kept.expires_s = std::min(record.expires_s, now_s + options_.max_ttl_s);
  std::optional<StoredRecord> before;
  if (const auto group = groups_.find(key); group != groups_.end())
    if (const auto old = group->second.records.find(record.subkey);
        old != group->second.records.end())
      before = old->second;
  if (before && before->expires_s > now_s) {
    if (stands_before(*before, record)) return false;
    if (!stands_before(record, *before))  // of the same version
      kept.expires_s = std::max(kept.expires_s, before->expires_s);
  }
  if (before) remove(key, record.subkey);
  const bool room = make_room(key, kept, now_s);
  if (room)
    add(key, std::move(kept));
  else if (before)
    add(key, std::move(*before));
  return room;
}

void RecordStore::add(const DhtKey& key, StoredRecord record) {
  ++count_;
  bytes_ += bytes_of(record);
  Giver& giver = givers_[source_of(record)];
  giver.bytes += bytes_of(record);
  ++giver.keys[key];
  Group& group = groups_[key];
  group.bytes += said_bytes(record);
  group.given[source_of(record)] += said_bytes(record);
  std::string subkey = record.subkey;
  group.records.emplace(std::move(subkey), std::move(record));
}

void RecordStore::remove(const DhtKey& key, const std::string& subkey) {
  const auto in = groups_.find(key);
  Group& group = in->second;
  const auto found = group.records.find(subkey);
  const StoredRecord record = std::move(found->second);
  group.records.erase(found);
  --count_;
  bytes_ -= bytes_of(record);
  const auto giver = givers_.find(source_of(record));
  giver->second.bytes -= bytes_of(record);
  take_off(giver->second.keys, key, size_t{1});
  if (giver->second.keys.empty()) givers_.erase(giver);
  group.bytes -= said_bytes(record);
  take_off(group.given, source_of(record), said_bytes(record));
  if (group.records.empty()) groups_.erase(in);
}

bool RecordStore::make_room(const DhtKey& key, const StoredRecord& record, double now_s) {
  const bool full =
      count_ >= options_.max_records || bytes_ + bytes_of(record) > options_.max_bytes;
  if ((full || bytes(key) + said_bytes(record) > options_.max_key_bytes) &&
      now_s - cleared_s_ >= kClearEvery_s) {
    cleared_s_ = now_s;
    expire(now_s);
  }
  return make_room_in(key, record) && make_room_in_all(record);
}

bool RecordStore::make_room_in(const DhtKey& key, const StoredRecord& record) {
  const uint64_t more = said_bytes(record);
  while (bytes(key) + more > options_.max_key_bytes) {
    const auto& given = groups_.at(key).given;
    const auto own = given.find(source_of(record));
    const uint64_t after = (own == given.end() ? 0 : own->second) + more;
    if (after * given.size() > options_.max_key_bytes) return false;  // more than a fair part
    const auto most =
        std::max_element(given.begin(), given.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->second <= after) return false;
    remove_one(key, Source(most->first));
  }
  return true;
}

bool RecordStore::make_room_in_all(const StoredRecord& record) {
  const uint64_t more = bytes_of(record);
  while (count_ >= options_.max_records || bytes_ + more > options_.max_bytes) {
    const auto own = givers_.find(source_of(record));
    const uint64_t after = (own == givers_.end() ? 0 : own->second.bytes) + more;
    if (after * givers_.size() > options_.max_bytes) return false;
    const auto most = std::max_element(
        givers_.begin(), givers_.end(),
        [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    if (most == givers_.end() || most->second.bytes <= after) return false;
    remove_one(DhtKey(most->second.keys.begin()->first), Source(most->first));
  }
  return true;
}

/// Requires that one is there.
void RecordStore::remove_one(const DhtKey& key, const Source& source) {
  const Records& records = groups_.at(key).records;
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const auto& one) { return source_of(one.second) == source; });
  remove(key, std::string(found->first));
}

std::vector<StoredRecord> RecordStore::find(const DhtKey& key, double now_s) const {
  std::vector<StoredRecord> found;
  auto group = groups_.find(key);
  if (group == groups_.end()) return found;
  for (const auto& [subkey, record] : group->second.records)
    if (record.expires_s > now_s) found.push_back(record);
  return found;
}

uint64_t RecordStore::bytes(const DhtKey& key) const {
  const auto group = groups_.find(key);
  return group == groups_.end() ? 0 : group->second.bytes;
}

void RecordStore::expire(double now_s) {
  std::vector<std::pair<DhtKey, std::string>> dead;
  for (const auto& [key, group] : groups_)
    for (const auto& [subkey, record] : group.records)
      if (!(record.expires_s > now_s)) dead.emplace_back(key, subkey);
  for (const auto& [key, subkey] : dead) remove(key, subkey);
}

size_t RecordStore::size() const { return count_; }

RecordStore::Page RecordStore::page(const DhtKey& after, const PageWish& wish) const {
  Page page;
  page.last = after;
  auto it = groups_.upper_bound(after);
  const size_t most = std::min(groups_.size(), wish.max_keys);
  for (size_t looked_at = 0; looked_at < most && page.bytes < wish.max_bytes; ++looked_at, ++it) {
    if (it == groups_.end()) it = groups_.begin();
    page.last = it->first;
    if (wish.wanted && !wish.wanted(it->first)) continue;
    auto alive = find(it->first, wish.alive_s);
    if (alive.empty()) continue;
    for (const auto& record : alive) page.bytes += said_bytes(record);
    page.keys.emplace_back(it->first, std::move(alive));
  }
  return page;
}

}  // namespace swarm::routing
