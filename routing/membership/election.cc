#include "routing/membership/election.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace swarm::routing {

ElectionDecision elect(const Candidate& self, const std::vector<Candidate>& candidates,
                       const std::set<NodeId>& dead) {
  std::optional<Candidate> leader;
  if (self.active) leader = self;
  NodeId smallest = self.node;
  Term highest_term = self.term;
  auto rank = [](const Candidate& c) { return std::make_pair(c.term, c.node); };
  for (const Candidate& other : candidates) {
    highest_term = std::max(highest_term, other.term);
    if (other.node == self.node || dead.count(other.node) != 0) continue;
    smallest = std::min(smallest, other.node);
    if (other.active && (!leader || rank(*leader) < rank(other))) leader = other;
  }
  using Kind = ElectionDecision::Kind;
  if (leader && leader->node == self.node)
    return {Kind::kLead, self.node, self.term, "this node has the highest term"};
  if (leader)
    return {self.active ? Kind::kStepDown : Kind::kFollow, leader->node, leader->term,
            fmt::format("node {} leads term {}", leader->node.brief(), leader->term)};
  if (smallest == self.node)
    return {Kind::kTakeOver, self.node, highest_term + 1, "no coordinator lives"};
  return {Kind::kWait, smallest, highest_term, "node " + smallest.brief() + " is to take over"};
}

}  // namespace swarm::routing
