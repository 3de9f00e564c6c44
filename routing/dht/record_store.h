/// The records a DHT node keeps for others, with limits. Pure: time is an argument; one owner.
///
/// A full store, or a key that is full, is shared by those who give records: who has less there than the one
/// who has most takes a place of that one's. So whoever gives much keeps nobody out who gives little. What a
/// node gives of itself and what it passes on count apart: no junk that it was left costs it its own place.
#pragma once

#include <functional>
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
  NodeId giver{};      ///< The node that it came from; zero: this one.
  double given_s = 0;  ///< When it came last; store() sets it.
};

/// Of two records of one subkey that live: what its writer gave stands before what others pass on, whatever
/// version that says; of two alike the higher version.
template <class One, class Other>  // both with `version` and `first_hand`
bool stands_before(const One& one, const Other& other) {
  return one.first_hand != other.first_hand ? one.first_hand : one.version > other.version;
}

class RecordStore {
 public:
  struct Options {
    size_t max_records = 65'536;
    uint64_t max_bytes = 16u << 20;  ///< Of all, with what it takes to keep them.
    /// Of one key, as its records travel: all of them fit one answer.
    uint64_t max_key_bytes = 512u << 10;
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
  /// What find() has to read at most.
  uint64_t bytes(const DhtKey& key) const;
  void expire(double now_s);
  size_t size() const;

  struct PageWish {
    double alive_s = 0;                           ///< Only what lives longer than until then.
    std::function<bool(const DhtKey&)> wanted{};  ///< Empty: all keys are.
    size_t max_keys = 256;                        ///< That are looked at.
    uint64_t max_bytes = 1u << 20;                ///< The key that reaches it is the last.
  };
  struct Page {
    std::vector<std::pair<DhtKey, std::vector<StoredRecord>>> keys;
    DhtKey last;         ///< That was looked at.
    uint64_t bytes = 0;  ///< Of `keys`.
  };
  /// Part of what is kept: of the keys behind `after`, in their order and round the end, each once at most.
  Page page(const DhtKey& after, const PageWish& wish) const;

 private:
  using Records = std::map<std::string, StoredRecord>;
  using Source = std::pair<NodeId, bool>;  // the giver, and whether these are its own
  struct Group {
    Records records;
    uint64_t bytes = 0;
    std::map<Source, uint64_t> given;  // of these, by whom
  };
  struct Giver {
    uint64_t bytes = 0;
    std::map<DhtKey, size_t> keys;  // where its records are, and how many
  };
  static Source source_of(const StoredRecord& record) { return {record.giver, record.first_hand}; }
  void add(const DhtKey& key, StoredRecord record);
  void remove(const DhtKey& key, const std::string& subkey);
  /// Whether `record` may be added; others may have made room for it.
  bool make_room(const DhtKey& key, const StoredRecord& record, double now_s);
  bool make_room_in(const DhtKey& key, const StoredRecord& record);
  bool make_room_in_all(const StoredRecord& record);
  void remove_one(const DhtKey& key, const Source& source);

  Options options_;
  std::map<DhtKey, Group> groups_;
  std::map<Source, Giver> givers_;
  size_t count_ = 0;
  uint64_t bytes_ = 0;
  double cleared_s_ = -1e300;  // when a full store last looked for the dead
};

}  // namespace swarm::routing
