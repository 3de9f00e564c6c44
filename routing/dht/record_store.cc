#include "routing/dht/record_store.h"

#include <algorithm>

namespace swarm::routing {

namespace {

constexpr double kClearEvery_s = 1;  // a full store is asked often

uint64_t bytes_of(const StoredRecord& record) {
  constexpr uint64_t kBeside = 256;  // of a place in two maps
  return record.subkey.size() + record.value.size() + kBeside;
}

}  // namespace

RecordStore::RecordStore(const Options& options) : options_(options) {}

bool RecordStore::store(const DhtKey& key, const StoredRecord& record, double now_s) {
  if (record.value.size() > options_.max_value_bytes) return false;
  if (record.subkey.size() > options_.max_subkey_bytes) return false;
  if (!(record.expires_s > now_s)) return false;
  StoredRecord kept = record;
  kept.expires_s = std::min(record.expires_s, now_s + options_.max_ttl_s);
  const uint64_t bytes = bytes_of(kept);
  const auto no_room = [&] { return count_ >= options_.max_records || full(bytes); };
  if (no_room() && now_s - cleared_s_ >= kClearEvery_s) {
    cleared_s_ = now_s;
    expire(now_s);
  }
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
      const uint64_t less = bytes_of(old->second);
      if (bytes > less && full(bytes - less)) return false;
      bytes_ += bytes - less;
      old->second = std::move(kept);
      return true;
    }
  }
  if (no_room()) return false;
  bytes_ += bytes;
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
      bytes_ -= bytes_of(it->second);
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
