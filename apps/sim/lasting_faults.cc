// FaultInjector: ways that are closed for good. They outlive heal(): a swarm has to live with them.
#include <algorithm>

#include "apps/sim/faults.h"

namespace swarm::sim {
namespace {

std::vector<std::string> of_stage(const Swarm& swarm, int stage) {
  std::vector<std::string> names;
  for (const auto& [name, node] : swarm.nodes)
    if (node.stage == stage) names.push_back(name);
  return names;
}

}  // namespace

/// Whether the swarm can train without this pair, whoever coordinates and whoever is set aside. A
/// trainer must not lose the only peer of a stage, nor two neighbouring stages each other.
bool FaultInjector::may_part(const std::string& a, const std::string& b) const {
  const int of_a = swarm_.nodes.at(a).stage, of_b = swarm_.nodes.at(b).stage;
  if (of_a == of_b) return true;
  const size_t size_a = of_a < 0 ? 1 : of_stage(swarm_, of_a).size();
  const size_t size_b = of_b < 0 ? 1 : of_stage(swarm_, of_b).size();
  if (of_a < 0 || of_b < 0) return std::max(size_a, size_b) > 1;
  return size_a > 1 || size_b > 1;
}

/// Once of each kind in a run, or so many ways might be closed that none is left.
void FaultInjector::draw_lasting() {
  const uint64_t which = random_.below(3);
  const bool one_way = random_.chance(0.5);
  Names all;
  for (const auto& [name, node] : swarm_.nodes) all.push_back(name);
  const Names two = draw_some(all, 2), trainers = draw_some(of_stage(swarm_, -1), 1);
  const int stage = static_cast<int>(random_.below(swarm_.num_stages));
  if (!lasting_kinds_.insert(which).second) return;
  if (which == 0 && may_part(two[0], two[1])) {
    hooks_.log(two[0], std::string("FAULT ") + (one_way ? "cannot send to " : "is cut off from ") +
                           two[1] + " for good");
    part_for_good(Cuts::between({two[0]}, {two[1]}, /*to_right=*/true, /*to_left=*/!one_way));
  } else if (which == 1) {
    hooks_.log(two[0], "FAULT cannot be dialled for good");
    cuts_.close_to_dials(two[0]);
  } else if (which == 2) {
    hooks_.log(trainers[0], "FAULT has no way to stage " + std::to_string(stage) + " for good");
    part_for_good(Cuts::between(trainers, of_stage(swarm_, stage)));
  }
}

void FaultInjector::part_for_good(const Cuts::Pairs& pairs) {
  for (const auto& [a, b] : pairs) {
    for (const auto& end : {a, b})  // whoever could do its work is needed
      for (const auto& other : of_stage(swarm_, swarm_.nodes.at(end).stage)) spared_.insert(other);
    for (const auto& trainer : of_stage(swarm_, -1)) spared_.insert(trainer);
    const int of_a = swarm_.nodes.at(a).stage, of_b = swarm_.nodes.at(b).stage;
    if (of_a >= 0 && (of_b < 0 || of_a == of_b)) parted_.insert(a);
    if (of_b >= 0 && (of_a < 0 || of_a == of_b)) parted_.insert(b);
  }
  cuts_.cut_for_good(pairs);
}

}  // namespace swarm::sim
