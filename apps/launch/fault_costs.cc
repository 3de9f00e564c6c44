#include "apps/launch/fault_costs.h"

#include <algorithm>
#include <map>

namespace swarm::launch {
namespace {

/// Requires at least one; of an even number the mean of the two in the middle.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<FaultCost> fault_costs(std::vector<double> closed_s, std::vector<Fault> faults) {
  if (closed_s.size() < 2) return {};
  std::sort(closed_s.begin(), closed_s.end());
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.time_s < b.time_s; });
  std::vector<double> steps_s;
  for (size_t i = 1; i < closed_s.size(); ++i) steps_s.push_back(closed_s[i] - closed_s[i - 1]);
  const double usual_s = median(steps_s);
  std::vector<double> lost_s(faults.size(), 0);
  for (size_t i = 0; i < steps_s.size(); ++i) {
    if (steps_s[i] <= kOrdinary * usual_s) continue;
    const auto after = std::upper_bound(faults.begin(), faults.end(), closed_s[i] + usual_s,
                                        [](double at, const Fault& b) { return at < b.time_s; });
    if (after != faults.begin())
      lost_s[static_cast<size_t>(after - faults.begin()) - 1] += steps_s[i] - usual_s;
  }
  std::map<std::string, std::vector<double>> by_kind;
  for (size_t i = 0; i < faults.size(); ++i) by_kind[faults[i].kind].push_back(lost_s[i]);
  std::vector<FaultCost> out;
  for (const auto& [kind, lost] : by_kind)
    out.push_back({kind, lost.size(), median(lost), *std::max_element(lost.begin(), lost.end())});
  return out;
}

}  // namespace swarm::launch
