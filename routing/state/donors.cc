#include "routing/state/donors.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/mix.h"

namespace swarm::routing {

/// Rendezvous hashing: each source draws a number with the learner, the highest are chosen.
std::vector<size_t> choose_donors(const std::string& learner,
                                  const std::vector<std::string>& sources, size_t most) {
  std::vector<std::pair<uint64_t, size_t>> drawn;
  for (size_t i = 0; i < sources.size(); ++i)
    drawn.emplace_back(mix(fnv1a(sources[i], mix(fnv1a(learner)))), i);
  std::sort(drawn.rbegin(), drawn.rend());
  std::vector<size_t> chosen;
  for (size_t i = 0; i < std::min(most, drawn.size()); ++i) chosen.push_back(drawn[i].second);
  return chosen;
}

}  // namespace swarm::routing
