/// How a swarm begins whose peers move between stages (profiles placement and elastic): in a few stages or in
/// none, some of them late, on machines of unlike speed, with short periods.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "apps/sim/swarm.h"

namespace swarm::sim {

class ElasticStart {
 public:
  /// Draws all by itself: whatever is added here changes no other run. `swarm` outlives this.
  ElasticStart(Swarm& swarm, uint64_t seed);

  /// Trainers included.
  uint32_t nodes() const { return nodes_; }
  /// The swarm has its options but for these. `copies`: of snapshots, on nodes of other stages.
  void set_options(bool copies, bool asynchronous);
  void add_peers(uint32_t peers, std::chrono::nanoseconds fsync);
  /// Peers that start so long after the others.
  const std::map<std::string, std::chrono::nanoseconds>& late() const { return late_; }

 private:
  Swarm& swarm_;
  Random random_;
  uint32_t nodes_;
  std::map<std::string, std::chrono::nanoseconds> late_;
};

}  // namespace swarm::sim
