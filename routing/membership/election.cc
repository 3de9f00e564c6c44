#include "routing/membership/election.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "routing/membership/term.h"

namespace swarm::routing {
namespace {

/// Of these the first is to take over.
auto line(const Candidate& candidate) { return std::make_pair(candidate.yields, candidate.node); }

}  // namespace

Term highest_term(const Candidate& self, const std::vector<Candidate>& candidates) {
  Term highest = self.term;
  for (const Candidate& other : candidates)
    if (!jumps(other.term, self.term)) highest = std::max(highest, other.term);
  return highest;
}

ElectionDecision elect(const Candidate& self, const std::vector<Candidate>& candidates,
                       const std::set<NodeId>& dead) {
  std::optional<Candidate> leader;
  if (self.active) leader = self;
  Candidate next = self;
  const auto rank = [&self](const Candidate& c) {
    return std::make_tuple(!jumps(c.term, self.term), c.term, c.node);
  };
  for (const Candidate& other : candidates) {
    if (other.node == self.node || dead.count(other.node) != 0) continue;
    if (line(other) < line(next)) next = other;
    if (other.active && (!leader || rank(*leader) < rank(other))) leader = other;
  }
  using Kind = ElectionDecision::Kind;
  if (leader && leader->node == self.node)
    return {Kind::kLead, self.node, self.term, "this node has the highest term"};
  if (leader)
    return {self.active ? Kind::kStepDown : Kind::kFollow, leader->node, leader->term,
            fmt::format("node {} leads term {}", leader->node.brief(), term_number(leader->term))};
  const Term highest = highest_term(self, candidates);
  if (next.node == self.node)
    return {Kind::kTakeOver, self.node, next_term(highest, self.node), "no coordinator lives"};
  return {Kind::kWait, next.node, highest, "node " + next.node.brief() + " is to take over"};
}

}  // namespace swarm::routing
