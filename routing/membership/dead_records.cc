#include "routing/membership/dead_records.h"

namespace swarm::routing {

void DeadRecords::died(Term term, const NodeId& node, uint64_t version, double now_s) {
  dead_[{term, node}] = {version, now_s};
}

bool DeadRecords::is_dead(Term term, const NodeId& node, uint64_t version) const {
  auto dead = dead_.find({term, node});
  return dead != dead_.end() && version <= dead->second.version;
}

void DeadRecords::expire(double now_s) {
  for (auto it = dead_.begin(); it != dead_.end();)
    it = now_s - it->second.at_s > record_ttl_s_ ? dead_.erase(it) : std::next(it);
}

}  // namespace swarm::routing
