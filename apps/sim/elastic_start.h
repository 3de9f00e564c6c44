/// How a swarm begins whose peers move between stages (profiles placement and elastic): in a few stages or in
/// none, some of them late, on machines of unlike speed, with short periods.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/sim/swarm.h"

namespace swarm::sim {

class ElasticStart {
 public:
  /// Draws all by itself: whatever is added here changes no other run. `swarm` outlives this.
  /// `copies`: of snapshots, on nodes of other stages.
  ElasticStart(Swarm& swarm, uint64_t seed, bool copies, bool asynchronous);

  /// Trainers included.
  uint32_t nodes() const { return nodes_; }
  /// The swarm has its options but for these.
  void set_options();
  void add_peers(uint32_t peers, std::chrono::nanoseconds fsync);
  bool is_late(const std::string& name) const { return late_.count(name) != 0; }
  /// Of those that are late, who starts at `time`; each once.
  std::vector<std::string> start_late(std::chrono::nanoseconds time);

 private:
  Swarm& swarm_;
  const uint64_t seed_;
  Random random_;
  bool copies_, asynchronous_;
  uint32_t nodes_;
  std::map<std::string, std::chrono::nanoseconds> late_;
};

}  // namespace swarm::sim
