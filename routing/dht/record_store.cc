#include "routing/dht/record_store.h"

#include <algorithm>

namespace swarm::routing {

RecordStore::RecordStore(const Options& options) : options_(options) {}

bool RecordStore::store(const DhtKey& key, const StoredRecord& record, double now_s) {
  if (record.value.size() > options_.max_value_bytes) return false;
  if (record.subkey.size() > options_.max_subkey_bytes) return false;
  if (!(record.expires_s > now_s)) return false;
  StoredRecord kept = record;
  kept.expires_s = std::min(record.expires_s, now_s + options_.max_ttl_s);
  auto group = records_.find(key);
  if (group != records_.end()) {
    auto old = group->second.find(record.subkey);
    if (old != group->second.end()) {
      bool alive = old->second.expires_s > now_s;
      if (alive && old->second.first_hand && !record.first_hand) return false;
      alive &= old->second.first_hand == record.first_hand;
      if (alive && old->second.version > record.version) return false;
      if (alive && old->second.version == record.version)
        kept.expires_s = std::max(kept.expires_s, old->second.expires_s);
      old->second = std::move(kept);
      return true;
    }
  }
  if (count_ >= options_.max_records) expire(now_s);
  if (count_ >= options_.max_records) return false;
  records_[key].emplace(record.subkey, std::move(kept));
  ++count_;
  return true;
}

std::vector<StoredRecord> RecordStore::find(const DhtKey& key, double now_s) const {
  std::vector<StoredRecord> found;
  auto group = records_.find(key);
  if (group == records_.end()) return found;
  for (const auto& [subkey, record] : group->second)
    if (record.expires_s > now_s) found.push_back(record);
  return found;
}

void RecordStore::expire(double now_s) {
  for (auto group = records_.begin(); group != records_.end();) {
    auto& records = group->second;
    for (auto it = records.begin(); it != records.end();) {
      if (it->second.expires_s > now_s) {
        ++it;
        continue;
      }
      it = records.erase(it);
      --count_;
    }
    group = records.empty() ? records_.erase(group) : std::next(group);
  }
}

size_t RecordStore::size() const { return count_; }

std::vector<std::pair<DhtKey, StoredRecord>> RecordStore::all(double now_s) const {
  std::vector<std::pair<DhtKey, StoredRecord>> alive;
  for (const auto& [key, records] : records_)
    for (const auto& [subkey, record] : records)
      if (record.expires_s > now_s) alive.emplace_back(key, record);
  return alive;
}

}  // namespace swarm::routing
