/// Whether anybody still has what the swarm would go on from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/sim/swarm.h"
#include "routing/membership/configuration.h"

namespace swarm::sim {

/// What lies whole on the nodes' disks and may be asked of them.
class OnDisks {
 public:
  /// `swarm` outlives this.
  explicit OnDisks(const Swarm& swarm) : swarm_(swarm) {}
  /// By stage: of the one that node `name` serves, and where copies are made or peers move of others. What lies
  /// aside counts: it is taken back where the line of history that goes on needs it.
  std::map<int, std::set<uint64_t>> of(const std::string& name) const;
  /// Steps that every stage has on one of the disks of `names`.
  std::set<uint64_t> common(const std::vector<std::string>& names) const;

 private:
  const Swarm& swarm_;
};

/// Steps of which there is a copy, in memory or on a disk, by stage. Of living nodes; with `gone`, on
/// the disks of these too.
std::map<int, std::set<uint64_t>> copies(const Swarm& swarm,
                                         const std::set<std::string>& gone = {});

/// When a swarm stands still: the stage whose last copies left with the nodes `gone`, or with their disks,
/// or were never on one (Node::lost_unsaved). Nobody has any of it any more; or there is no step that every
/// stage has, and with the disks of `gone`, or of those that took nothing, there would be one. Or one of
/// `disks_lost`, disks of whose peers were lost with whatever was on them: all others have a step that it has
/// not. Or all that served it are gone, nobody waits for a stage, and no other one can spare a peer. Copies
/// older than `end`, the step of a training that was declared finished, count for nothing: nobody computes
/// again what was durable in every stage. Nothing if the swarm could go on: then it is stuck.
std::optional<int> lost_stage(const Swarm& swarm, const std::set<std::string>& gone,
                              const std::set<int>& disks_lost = {}, uint64_t end = 0);
/// Of the newest list of voters that a disk knows, or one that may follow it: half are gone for good, or have
/// lost their disks. Nobody can tell a swarm that may go on from one that is cut off then.
std::optional<routing::Count> votes_lost(const Swarm& swarm, const std::set<std::string>& gone);

}  // namespace swarm::sim
