#include "routing/averaging/averaging_plan.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"
#include "common/mix.h"

namespace swarm::routing {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kMostElements = 1ull << 40;
static_assert(kMostElements / kAlignment * kMostWeight < ~0ull / kMostParts / 2);

uint64_t sum(const std::vector<uint32_t>& weights) {
  return std::accumulate(weights.begin(), weights.end(), uint64_t{0});
}

std::vector<uint32_t> checked(std::vector<uint32_t> weights) {
  SWARM_CHECK(weights.size() <= kMostParts);
  for (const uint32_t weight : weights) SWARM_CHECK(weight <= kMostWeight);
  if (sum(weights) == 0) weights.assign(weights.size(), 1);
  return weights;
}

/// At most so many of them, by a lot that is the same at all members: over the rounds each is chosen as often as
/// its weight says. Systematic sampling: of the line on which everybody has its weight, points that are as far
/// apart as `most` of them may be, from one that the round draws.
std::vector<uint32_t> chosen_by_weight(const std::vector<uint32_t>& shares, uint64_t most,
                                       uint64_t round) {
  const auto with_part = static_cast<uint64_t>(
      std::count_if(shares.begin(), shares.end(), [](uint32_t share) { return share > 0; }));
  if (with_part <= most) return shares;
  const uint64_t all = sum(shares);  // of weights `most` times as large: the distance of the points
  uint64_t point = mix(round) % all, end = 0;
  std::vector<uint32_t> chosen(shares.size(), 0);
  for (size_t i = 0; i < shares.size(); ++i) {
    end += shares[i] * most;
    if (point >= end) continue;
    chosen[i] = shares[i];
    point += (end - point + all - 1) / all * all;
  }
  return chosen;
}

}  // namespace

std::vector<Part> plan_parts(uint64_t n, const std::vector<uint32_t>& weights) {
  return plan_parts(n, weights, n >= kAlignment * weights.size() ? kAlignment : 1);
}

std::vector<Part> plan_parts(uint64_t n, const std::vector<uint32_t>& weights, uint64_t alignment) {
  SWARM_CHECK(alignment > 0 && n < kMostElements && n / alignment <= kMostElements / kAlignment);
  std::vector<Part> parts(weights.size());
  if (parts.empty()) return parts;
  const auto shares = checked(weights);
  const uint64_t total = sum(shares);
  const uint64_t units = n / alignment;
  size_t last = 0;  // the last member with a part takes what rounding leaves
  for (size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0) last = i;
  uint64_t before = 0, first = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    before += shares[i];
    uint64_t end = (units * before + total / 2) / total * alignment;
    if (shares[i] == 0) end = first;
    if (i >= last) end = n;
    parts[i] = Part{first, end - first};
    first = end;
  }
  return parts;
}

std::vector<uint32_t> reducers(uint64_t n, const std::vector<uint32_t>& weights, uint64_t min_part,
                               uint64_t round) {
  const auto shares = checked(weights);
  SWARM_CHECK(!shares.empty() && min_part > 0 && n < kMostElements);
  const uint64_t most = std::clamp<uint64_t>(n / min_part, 1, shares.size());
  auto chosen = chosen_by_weight(shares, most, round);
  std::vector<size_t> order;
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i] > 0) order.push_back(i);
  while (order.size() > 1) {
    const auto least = std::min_element(order.begin(), order.end(),
                                        [&](size_t a, size_t b) { return chosen[a] < chosen[b]; });
    if (n * chosen[*least] / sum(chosen) >= min_part) break;
    chosen[*least] = 0;
    order.erase(least);
  }
  return chosen;
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
