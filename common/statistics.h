/// Statistics of a few measured values.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace swarm {

/// The value at quantile `q` in [0, 1], without interpolation; q = 1 is the largest. 0 if empty.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::ceil(place - 1e-9))];
}

/// The middle value, or the mean of the two middle ones. 0 if empty.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace swarm
