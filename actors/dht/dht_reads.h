/// What is read again and again is asked of the nodes that gave it last, without a lookup: a read
/// costs the same in a swarm of any size. Belongs to one DhtNode and runs in it.
///
/// A key's sources are the nearest nodes to it that answered the last lookup. They are looked up
/// anew when one of them fails or is lost, when a nearer node appears, when they know nothing, and
/// every options.refresh_every.
#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>
#include <vector>

#include "actors/dht/dht_lookups.h"
#include "routing/dht/record_store.h"
#include "routing/dht/replica_map.h"

namespace swarm::actors {

/// As a caller sees them; without those whose time is over.
DhtRecords local_records(const FoundRecords& found, double now_s);

class DhtReads {
 public:
  /// Called once; `aborted`: the actor ends.
  using Done = std::function<void(const FoundRecords&, bool aborted)>;

  /// All outlive this. `own`: the records that this node keeps.
  DhtReads(caf::event_based_actor* self, const DhtDeps& deps, DhtLookups& lookups,
           const routing::RecordStore& own);

  /// Everything under `key`: the answers of all sources and this node's own records, of each subkey
  /// the one that stands before the others.
  void all(const routing::DhtKey& key, Done done);
  /// What one source has under `key`, the sources in turn: `most` of the records at most, the same
  /// ones every time as long as they live (routing/dht/record_sample.h).
  void some(const routing::DhtKey& key, uint32_t most, Done done);

  /// Which of `records` that are kept here `reader` gets, if so many at most: routing/dht/record_sample.h.
  std::vector<routing::StoredRecord> chosen(const NodeId& reader,
                                            std::vector<routing::StoredRecord> records,
                                            size_t most) const;

  /// Ends all that do not look anything up: those end with the lookups.
  void abort_all();

  void heard_from(const routing::Contact& contact) { sources_.heard_from(contact); }
  void lost(const NodeId& id) { sources_.lost(id); }

 private:
  using KeyReplicas = routing::KeyReplicas;
  struct Reading {
    routing::DhtKey key;
    uint32_t most = 0;
    size_t waiting = 0;
    bool failed = false;
    FoundRecords records;
    Done done;
  };
  double now_s() const;
  /// Null: they must be looked up.
  const KeyReplicas* sources(const routing::DhtKey& key) const;
  void look_up(const routing::DhtKey& key, uint32_t most, FoundRecords before, Done done);
  void add_own(FoundRecords& into, const routing::DhtKey& key, uint32_t most) const;
  void learn(FoundRecords& into, const Mail& reply) const;
  void ask(const routing::DhtKey& key, uint32_t most, std::vector<routing::Contact> contacts,
           Done done);
  void answered(uint64_t id, const Mail* reply);

  caf::event_based_actor* self_;
  const DhtDeps& deps_;
  DhtLookups& lookups_;
  const routing::RecordStore& own_;
  routing::ReplicaMap sources_;
  std::map<uint64_t, Reading> under_way_;
  uint64_t next_id_ = 0;
  size_t turn_ = 0;
};

}  // namespace swarm::actors
