#include "routing/membership/majority.h"

#include <algorithm>
#include <map>

#include "common/check.h"

namespace swarm::routing {

Believed believe(const std::vector<Said>& said) {
  SWARM_CHECK(!said.empty());
  std::map<uint64_t, std::vector<PeerId>> sides;
  for (const Said& one : said) sides[one.what].push_back(one.peer);
  for (auto& [what, peers] : sides) std::sort(peers.begin(), peers.end());
  const auto best = std::min_element(sides.begin(), sides.end(), [](const auto& a, const auto& b) {
    const auto size_a = a.second.size(), size_b = b.second.size();
    return size_a != size_b ? size_a > size_b : a.second.front() < b.second.front();
  });
  Believed believed{best->first, {}};
  for (const Said& one : said)
    if (one.what != believed.what) believed.odd.push_back(one.peer);
  std::sort(believed.odd.begin(), believed.odd.end());
  return believed;
}

}  // namespace swarm::routing
