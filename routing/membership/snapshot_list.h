/// The snapshots of a stage in its node's database, and which of them are worth offering.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/strong_id.h"
#include "routing/steps/history.h"

namespace swarm::routing {

/// Pure; not thread-safe; one owner.
class SnapshotList {
 public:
  /// What the database lists, newest first.
  void listed(std::vector<Step> steps);
  /// The first of these whose history has not been told.
  std::optional<Step> untold(const std::vector<Step>& steps) const;
  /// As its head says, unless it has been written anew since; 0: not known.
  void told(Step step, History history) { histories_.emplace(step, history); }
  /// One was written; it is good, whatever stood under its number.
  void saved(Step step, History history);
  /// Newer ones are dropped.
  void forget_newer(Step step);
  /// The state in memory is another one now: a snapshot of its number is spoiled if it is of another
  /// history.
  void is_at(Step step, History history);
  /// It is corrupt, or of another state than the one that has its number now.
  void spoiled(Step step) { spoiled_.insert(step); }

  bool is_spoiled(Step step) const { return spoiled_.count(step) != 0; }
  /// 0: not known.
  History history(Step step) const;
  /// Newest first, without the spoiled ones.
  std::vector<Step> readable() const;
  const std::vector<Step>& all() const { return steps_; }

 private:
  std::vector<Step> steps_;
  std::set<Step> spoiled_;
  std::map<Step, History> histories_;
};

}  // namespace swarm::routing
