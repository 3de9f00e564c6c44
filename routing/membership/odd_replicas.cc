#include "routing/membership/odd_replicas.h"

#include "routing/membership/majority.h"

namespace swarm::routing {

OddReplicas odd_replicas(const std::vector<Replica>& replicas) {
  std::vector<Said> all, unchanged;
  for (const Replica& one : replicas) {
    all.push_back({one.peer, one.checksum});
    if (!one.changed_at_rest) unchanged.push_back(all.back());
  }
  OddReplicas found;
  found.right = believe(unchanged.empty() ? all : unchanged).what;
  for (const Replica& one : replicas)
    if (one.checksum != found.right) found.odd.push_back(one);
  return found;
}

}  // namespace swarm::routing
