/// The records a DHT node keeps for others, with limits. Pure: time is an argument; one owner.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "routing/dht/dht_key.h"

namespace swarm::routing {

/// One value under (key, subkey).
struct StoredRecord {
  std::string subkey;
  std::string value;
  uint64_t version = 0;
  double expires_s = 0;
  /// It came from the node that it is of, not from one that passes on what it holds.
  bool first_hand = false;
};

class RecordStore {
 public:
  struct Options {
    size_t max_records = 65'536;
    uint64_t max_bytes = 16u << 20;  ///< Of all, with what it takes to keep them.
    size_t max_value_bytes = 4'096;
    size_t max_subkey_bytes = 128;
    double max_ttl_s = 3'600;
  };
  explicit RecordStore(const Options& options);
  RecordStore() : RecordStore(Options{}) {}
  /// False when refused: too large, older than what is there, expired, or full. Lifetimes are cut
  /// to max_ttl_s; an equal version replaces the value and never shortens the lifetime. What came first-hand
  /// is replaced first-hand only while it lives, and replaces whatever others say, of any version.
  bool store(const DhtKey& key, const StoredRecord& record, double now_s);
  std::vector<StoredRecord> find(const DhtKey& key, double now_s) const;
  void expire(double now_s);
  size_t size() const;
  /// Everything alive, for republishing.
  std::vector<std::pair<DhtKey, StoredRecord>> all(double now_s) const;

 private:
  bool full(uint64_t more_bytes) const { return bytes_ + more_bytes > options_.max_bytes; }

  Options options_;
  std::map<DhtKey, std::map<std::string, StoredRecord>> records_;
  size_t count_ = 0;
  uint64_t bytes_ = 0;
  double cleared_s_ = -1e300;  // when a full store last looked for the dead
};

}  // namespace swarm::routing
