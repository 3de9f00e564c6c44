/// Who adds up what in an all-reduce of two levels (docs/averaging.md, "Two levels").
///
/// The members are divided into groups. Each group cuts the vector by its members' weights: within a part
/// one member, its *reducer*, adds the group's numbers. All groups' borders together cut the vector into
/// *columns*, each with one reducer in every group. These add up the groups' sums: of each *piece* of a column
/// one of them, its *top*. A *run* is pieces that follow each other, as many as fit into a message: what members
/// send to their group's reducer.
///
/// Runs have one order in all of the swarm, in which everybody sends them: the first of each column, then
/// the second of each. So the earliest run that is not done waits for nothing but mail, however few messages are
/// under way at a time, and all columns are worked on at once.
///
/// Pure, whole numbers only: all members of a round make the same plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/averaging/averaging_plan.h"

namespace swarm::routing {

/// More members than this average in two levels.
constexpr size_t kMostDirect = 16;

using Groups = std::vector<std::vector<uint32_t>>;  ///< Places in the member list, ascending.

/// About sqrt(n) groups whose sizes differ by at most one and whose weights are about equal: the members,
/// heaviest first, of equals in the order of the list, are dealt to and fro. No more groups than members with a
/// weight: each has one who reduces. Requires members, and what plan_parts() does of weights.
Groups plan_groups(const std::vector<uint32_t>& weights);

struct TwoLevelPlan {
  struct Piece {
    Part part;
    uint32_t top = 0;  ///< The group whose reducer it is.
  };
  struct Run {
    Part part;
    uint32_t column = 0;
    std::vector<Piece> pieces;  ///< Of `part`, in order; at least one.
  };
  Groups groups;
  std::vector<uint32_t> group_of;               ///< By member.
  std::vector<std::vector<uint32_t>> reducers;  ///< By column, by group: places in the member list.
  std::vector<Run> runs;                        ///< In the order in which they are sent.
};

/// `chunk`: of a message, at most; `min_part`: of a part and of a column at least, and of a piece where that
/// leaves each group a piece (in elements). With short vectors others reduce in every round.
/// Requires n >= 1, chunk > 0, what reducers() and plan_parts() do.
TwoLevelPlan plan_two_levels(uint64_t n, const std::vector<uint32_t>& weights, uint64_t min_part,
                             uint64_t chunk, uint64_t round);

}  // namespace swarm::routing
