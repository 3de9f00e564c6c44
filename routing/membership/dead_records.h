/// Coordinators whose link was lost, until the last record of them is gone too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "common/ids.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// A record that was published before the link was lost leads to the dead; a later one shows that
/// its coordinator lives. Node ids are new at every start, so entries must end: once the record
/// has expired wherever it was stored.
///
/// Pure: time [s] is an argument. Not thread-safe; one owner.
class DeadRecords {
 public:
  /// `record_ttl_s`: no record outlives its publication by more.
  explicit DeadRecords(double record_ttl_s) : record_ttl_s_(record_ttl_s) {}

  /// The link to the coordinator of this record is gone.
  void died(Term term, const NodeId& node, uint64_t version, double now_s);
  bool is_dead(Term term, const NodeId& node, uint64_t version) const;
  /// Drops what no record can name any more.
  void expire(double now_s);
  size_t size() const { return dead_.size(); }

 private:
  struct Death {
    uint64_t version = 0;
    double at_s = 0;
  };
  double record_ttl_s_;
  std::map<std::pair<Term, NodeId>, Death> dead_;
};

}  // namespace swarm::routing
