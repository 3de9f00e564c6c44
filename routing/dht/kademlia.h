/// Kademlia as pure logic: the routing table, the iterative lookup, the record store
/// (Maymounkov & Mazieres 2002). actors/dht_node carries it out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"

namespace swarm::routing {

/// A place in the 128-bit key space; node ids are keys too.
using DhtKey = NodeId;

/// Key of a name, e.g. "run/stage/3": the first 16 bytes of a strong-enough spread (two xxh64 or
/// FNV rounds; not secret).
DhtKey dht_key(const std::string& name);

/// a XOR b, compared as a big-endian number.
NodeId xor_distance(const DhtKey& a, const DhtKey& b);

struct Contact {
  NodeId id;
  Endpoint endpoint;
};

class RoutingTable {
 public:
  /// `k`: contacts per bucket.
  RoutingTable(NodeId self, size_t k);

  /// The contact was heard from at `now_s`. A full bucket keeps its old contacts (they live
  /// longest) and remembers this one as a replacement; the bucket's least recently seen contact, to
  /// be pinged, is returned then.
  std::optional<Contact> seen(const Contact& contact, double now_s);
  /// The contact failed: removed; a remembered replacement takes its place.
  void failed(const NodeId& id);
  /// Up to `n` contacts nearest to `key`, nearest first; never self.
  std::vector<Contact> nearest(const DhtKey& key, size_t n) const;
  /// A random-enough key in the bucket that was not refreshed for longest, if longer than `age_s`.
  /// Buckets without contacts are left to the lookup of one's own id. Hearing from a contact
  /// refreshes its bucket.
  std::optional<DhtKey> refresh_target(double now_s, double age_s) const;
  /// A lookup of `target` was made: its bucket counts as refreshed whatever came of it.
  void refreshed(const DhtKey& target, double now_s);
  size_t size() const;
  std::vector<Contact> all() const;

 private:
  struct Entry {
    Contact contact;
    double seen_s = 0;
  };
  struct Bucket {
    std::vector<Entry> live;          // least recently seen first
    std::vector<Entry> replacements;  // newest last
    double refreshed_s = 0;
  };
  size_t bucket_index(const NodeId& id) const;
  NodeId self_;
  size_t k_;
  std::array<Bucket, 128> buckets_;
};

/// State of one iterative lookup: which contact to ask next, and when it is over.
class Lookup {
 public:
  /// `alpha`: questions in flight at once.
  Lookup(DhtKey target, NodeId self, size_t k, size_t alpha, const std::vector<Contact>& start);

  /// Contacts to ask now (at most alpha in flight); each must be answered or failed.
  std::vector<Contact> next();
  /// `closer` is a stranger's word: at most k of it are looked at, and a lookup never remembers
  /// more than kMaxCandidates. Answers of contacts never asked are ignored.
  void answered(const NodeId& id, const std::vector<Contact>& closer);
  void failed(const NodeId& id);
  /// The lookup shall end with the answers of the `width` nearest instead of k: reading needs
  /// fewer than writing.
  void set_width(size_t width) { width_ = width; }
  size_t width() const { return width_; }
  /// The `width` nearest that are known have all answered, or nobody is left to ask.
  bool finished() const;
  /// The nearest contacts that answered, at most k, nearest first.
  std::vector<Contact> result() const;

  static constexpr size_t kMaxCandidates = 1'024;

 private:
  enum class State { kNew, kAsked, kAnswered, kFailed };
  struct Candidate {
    Contact contact;
    State state = State::kNew;
  };
  void add(const Contact& contact);
  DhtKey target_;
  NodeId self_;
  size_t k_, alpha_, width_, in_flight_ = 0;
  std::map<NodeId, Candidate> by_distance_;
};

struct StoredRecord {
  std::string subkey;
  std::string value;
  uint64_t version = 0;
  double expires_s = 0;
};

/// The records a DHT node keeps for others, with limits.
class RecordStore {
 public:
  struct Options {
    size_t max_records = 65'536;
    size_t max_value_bytes = 4'096;
    size_t max_subkey_bytes = 128;
    double max_ttl_s = 3'600;
  };
  explicit RecordStore(const Options& options);
  RecordStore() : RecordStore(Options{}) {}
  /// False when refused: too large, older than what is there, expired, or full. Lifetimes are cut
  /// to max_ttl_s; an equal version replaces the value and never shortens the lifetime.
  bool store(const DhtKey& key, const StoredRecord& record, double now_s);
  std::vector<StoredRecord> find(const DhtKey& key, double now_s) const;
  void expire(double now_s);
  size_t size() const;
  /// Everything alive, for republishing.
  std::vector<std::pair<DhtKey, StoredRecord>> all(double now_s) const;

 private:
  Options options_;
  std::map<DhtKey, std::map<std::string, StoredRecord>> records_;
  size_t count_ = 0;
};

}  // namespace swarm::routing
