#include "routing/averaging/averaging_plan.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/check.h"

namespace swarm::routing {
namespace {

constexpr uint64_t kAlignment = 16;

/// The share of every member, summing to 1 (see the header for what is minimised).
std::vector<double> shares(const std::vector<double>& bandwidths) {
  size_t members = bandwidths.size();
  std::vector<double> bandwidth = bandwidths;
  for (double& b : bandwidth)
    if (!std::isfinite(b) || b <= 0) b = 0;
  std::vector<double> sorted(members);
  std::partial_sort_copy(bandwidth.begin(), bandwidth.end(), sorted.begin(), sorted.end(),
                         std::greater<double>());
  if (sorted.front() == 0) return std::vector<double>(members, 1.0 / static_cast<double>(members));
  for (double& b : bandwidth) b /= sorted.front();  // no overflow in the sums below
  // Time T = (1 + p (m - 2)) / bandwidth is equal for all that take a part; add members from the
  // fastest on while the next one would have a part at that T.
  double others = static_cast<double>(members) - 2;
  double sum = 0, slots = 0, time = 0;
  for (double raw : sorted) {
    double b = raw / sorted.front();
    if (b == 0 || (slots > 0 && time * b <= 1)) break;
    sum += b;
    slots += 1;
    time = (others + slots) / sum;
  }
  std::vector<double> share(members, 0);
  for (size_t i = 0; i < members; ++i) {
    if (bandwidth[i] == 0) continue;
    share[i] = others > 0 ? std::max(0.0, (time * bandwidth[i] - 1) / others) : 1.0;
  }
  double total = 0;
  for (double s : share) total += s;
  for (double& s : share) s /= total;
  return share;
}

}  // namespace

std::vector<Part> plan_parts(uint64_t n, const std::vector<double>& bandwidths) {
  std::vector<Part> parts(bandwidths.size());
  if (parts.empty()) return parts;
  std::vector<double> share = shares(bandwidths);
  uint64_t alignment = n >= kAlignment * parts.size() ? kAlignment : 1;
  size_t last = 0;  // the last member with a part takes what rounding leaves
  for (size_t i = 0; i < share.size(); ++i)
    if (share[i] > 0) last = i;
  double border = 0;
  uint64_t first = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    border += share[i];
    double exact = border * static_cast<double>(n) / static_cast<double>(alignment);
    uint64_t end = static_cast<uint64_t>(std::llround(exact)) * alignment;
    if (share[i] == 0) end = first;
    if (i >= last) end = n;
    end = std::min(std::max(end, first), n);
    parts[i] = Part{first, end - first};
    first = end;
  }
  return parts;
}

std::vector<double> reducers(uint64_t n, size_t members, uint64_t min_part, uint64_t round) {
  SWARM_CHECK(members > 0 && min_part > 0);
  const uint64_t count = std::clamp<uint64_t>(n / min_part, 1, members);
  std::vector<double> bandwidths(members, 0.0);
  for (uint64_t i = 0; i < count; ++i) bandwidths[(round % members + i) % members] = 1.0;
  return bandwidths;
}

std::vector<Part> chunks(const Part& part, uint64_t chunk_elements) {
  SWARM_CHECK(chunk_elements > 0);
  std::vector<Part> pieces;
  for (uint64_t done = 0; done < part.count;) {
    uint64_t count = std::min(chunk_elements, part.count - done);
    pieces.push_back(Part{part.first + done, count});
    done += count;
  }
  return pieces;
}

}  // namespace swarm::routing
