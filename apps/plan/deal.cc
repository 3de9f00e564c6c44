#include "apps/plan/deal.h"

#include <algorithm>
#include <optional>

namespace swarm::plan {

Deal deal(const Rates& rates, const std::vector<uint32_t>& counts,
          const std::vector<size_t>& order) {
  const auto stages = static_cast<uint32_t>(rates.size());
  Deal dealt(stages, std::vector<uint32_t>(counts.size()));
  std::vector<double> sums(stages);
  for (const size_t device : order) {
    for (uint32_t left = counts[device]; left > 0;) {
      std::optional<size_t> poorest;
      for (size_t stage = 0; stage < stages; ++stage)
        if (rates[stage][device] > 0 && (!poorest || sums[stage] < sums[*poorest])) poorest = stage;
      if (!poorest) break;
      const uint32_t some = std::max(1u, left / (4 * stages));  // all one by one takes long
      dealt[*poorest][device] += some;
      sums[*poorest] += some * rates[*poorest][device];
      left -= some;
    }
  }
  if (std::any_of(sums.begin(), sums.end(), [](double sum) { return sum <= 0; })) return {};
  return dealt;
}

}  // namespace swarm::plan
