/// The snapshots of a stage in its node's database, and which of them are worth offering.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace swarm::routing {

/// Pure; not thread-safe; one owner.
class SnapshotList {
 public:
  /// What the database lists, newest first.
  void listed(std::vector<uint64_t> steps);
  /// One was written; it is good, whatever stood under its number.
  void saved(uint64_t step);
  /// It is corrupt, or of another state than the one that has its number now.
  void spoiled(uint64_t step) { spoiled_.insert(step); }

  /// Newest first, without the spoiled ones.
  std::vector<uint64_t> readable() const;
  const std::vector<uint64_t>& all() const { return steps_; }

 private:
  std::vector<uint64_t> steps_;
  std::set<uint64_t> spoiled_;
};

}  // namespace swarm::routing
