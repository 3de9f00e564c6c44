#include "routing/averaging/two_level_plan.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "common/check.h"

namespace swarm::routing {
namespace {

using Run = TwoLevelPlan::Run;

/// sqrt(n), rounded.
size_t root(size_t n) {
  size_t groups = 1;
  while (groups * (groups + 1) < n) ++groups;
  return groups;
}

/// [part.first, ...) in `count` pieces whose lengths differ by at most one.
std::vector<Part> divide(const Part& part, uint64_t count) {
  std::vector<Part> pieces;
  const uint64_t length = part.count / count, longer = part.count % count;
  for (uint64_t i = 0, first = part.first; i < count; ++i) {
    pieces.push_back({first, length + (i < longer ? 1 : 0)});
    first += pieces.back().count;
  }
  return pieces;
}

/// By group, by place in the group. Shorter groups are filled up with members without a weight, so that
/// all groups' reducers of a round are at about the same places.
std::vector<std::vector<Part>> cut(uint64_t n, const Groups& groups,
                                   const std::vector<uint32_t>& weights, uint64_t min_part,
                                   uint64_t round) {
  const uint64_t alignment = std::clamp<uint64_t>(min_part, 1, n);
  size_t longest = 0;
  for (const auto& group : groups) longest = std::max(longest, group.size());
  std::vector<std::vector<Part>> parts;
  for (const auto& group : groups) {
    std::vector<uint32_t> shares(longest, 0);
    for (size_t i = 0; i < group.size(); ++i) shares[i] = weights[group[i]];
    parts.push_back(plan_parts(n, routing::reducers(n, shares, min_part, round), alignment));
  }
  return parts;
}

uint32_t reducer_of(uint64_t element, const std::vector<uint32_t>& group,
                    const std::vector<Part>& parts) {
  for (size_t i = 0; i < group.size(); ++i)
    if (element >= parts[i].first && element - parts[i].first < parts[i].count) return group[i];
  SWARM_CHECK(false && "parts cover the vector");
  return 0;
}

/// As many pieces as keep each within a message, and one for each group if they are not too short.
uint64_t pieces_of(uint64_t column, size_t groups, uint64_t min_part, uint64_t chunk) {
  const uint64_t fit = (column + chunk - 1) / chunk;
  const uint64_t each = std::clamp<uint64_t>(column / min_part, 1, groups);
  if (fit <= each) return each;
  const uint64_t turns = (fit + groups - 1) / groups;  // each group has the same number
  return fit <= groups ? fit : std::min(column, turns * groups);
}

std::vector<Run> runs_of(const Part& part, uint32_t column, size_t groups, uint64_t pieces,
                         uint64_t chunk, uint64_t round) {
  std::vector<Run> runs;
  const uint64_t turn =
      pieces % groups == 0 ? 0 : round % groups;  // else all have their turn in each
  uint64_t number = (turn + column) % groups;
  for (const Part& piece : divide(part, pieces)) {
    if (runs.empty() || runs.back().part.count + piece.count > chunk)
      runs.push_back({{piece.first, 0}, column, {}});
    runs.back().part.count += piece.count;
    runs.back().pieces.push_back({piece, static_cast<uint32_t>(number++ % groups)});
  }
  return runs;
}

}  // namespace

Groups plan_groups(const std::vector<uint32_t>& weights) {
  SWARM_CHECK(!weights.empty() && weights.size() <= kMostParts);
  const auto able = static_cast<size_t>(
      std::count_if(weights.begin(), weights.end(), [](uint32_t one) { return one > 0; }));
  const size_t count = std::min(root(weights.size()), able > 0 ? able : weights.size());
  std::vector<uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return weights[a] > weights[b]; });
  Groups groups(count);
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t turn = i / count, at = i % count;
    groups[turn % 2 == 0 ? at : count - 1 - at].push_back(order[i]);
  }
  for (auto& group : groups) std::sort(group.begin(), group.end());
  return groups;
}

TwoLevelPlan plan_two_levels(uint64_t n, const std::vector<uint32_t>& told, uint64_t min_part,
                             uint64_t chunk, uint64_t round) {
  SWARM_CHECK(n >= 1 && min_part > 0 && chunk > 0);
  auto weights = told;
  if (std::all_of(told.begin(), told.end(), [](uint32_t one) { return one == 0; }))
    weights.assign(told.size(), 1);
  TwoLevelPlan plan;
  plan.groups = plan_groups(weights);
  const size_t groups = plan.groups.size();
  plan.group_of.resize(weights.size());
  for (uint32_t g = 0; g < groups; ++g)
    for (const uint32_t member : plan.groups[g]) plan.group_of[member] = g;
  const auto parts = cut(n, plan.groups, weights, min_part, round);
  std::set<uint64_t> borders{n};
  for (const auto& of_group : parts)
    for (const Part& part : of_group) borders.insert(part.first);
  borders.insert(0);
  std::vector<std::pair<size_t, Run>> runs;  // with their places in their columns
  for (auto border = borders.begin(); std::next(border) != borders.end(); ++border) {
    const Part part{*border, *std::next(border) - *border};
    const auto column = static_cast<uint32_t>(plan.reducers.size());
    plan.reducers.emplace_back();
    for (size_t g = 0; g < groups; ++g)
      plan.reducers.back().push_back(reducer_of(part.first, plan.groups[g], parts[g]));
    const uint64_t pieces = pieces_of(part.count, groups, min_part, chunk);
    size_t place = 0;
    for (Run& run : runs_of(part, column, groups, pieces, chunk, round))
      runs.emplace_back(place++, std::move(run));
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [place, run] : runs) plan.runs.push_back(std::move(run));
  return plan;
}

}  // namespace swarm::routing
