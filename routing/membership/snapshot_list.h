/// The snapshots of a stage in its node's database, and which of them are worth offering.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "common/strong_id.h"

namespace swarm::routing {

/// Pure; not thread-safe; one owner.
class SnapshotList {
 public:
  /// What the database lists, newest first.
  void listed(std::vector<Step> steps);
  /// One was written; it is good, whatever stood under its number.
  void saved(Step step);
  /// It is corrupt, or of another state than the one that has its number now.
  void spoiled(Step step) { spoiled_.insert(step); }

  /// Newest first, without the spoiled ones.
  std::vector<Step> readable() const;
  const std::vector<Step>& all() const { return steps_; }

 private:
  std::vector<Step> steps_;
  std::set<Step> spoiled_;
};

}  // namespace swarm::routing
