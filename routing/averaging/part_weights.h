/// How much of the vector each member of a butterfly all-reduce should reduce, when their links are
/// unequal (docs/averaging.md, "Parts sized by bandwidth").
///
/// Of m members, c of which contribute numbers, member i with part p_i (of 1) moves, in vectors:
///
///   up    c_i (1 - p_i) + (m - 1) p_i       its numbers of the others' parts, its part's means
///   down  (1 - p_i) + (c - c_i) p_i         the others' means, the others' numbers of its part
///
/// c_i is 1 or 0. With two contributors and more both grow with p_i, so within a time T a member can take up to some part p_i(T), and
/// the shortest round is the least T at which these add up to 1. Whoever needs T for its own vector
/// alone reduces nothing.
///
/// Pure; equal inputs give equal plans.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"

namespace swarm::routing {

/// What a member's node carries [bytes/s]; 0: not known.
struct MemberLink {
  double up = 0;
  double down = 0;
  bool contributes = true;
};

/// A rate as somebody else tells it: what no link can carry (not finite, negative, above 1 TB/s) or
/// what is no rate (under 1 byte/s) counts as not known.
double checked_rate(double bytes_per_s);

/// The weights of all parts together, about.
constexpr uint32_t kAllParts = 1'024;
/// No member gets more than so many times an equal part, whatever it tells of its links.
constexpr double kMostOfEqual = 3;

/// Those with the shortest round, in parts of kAllParts; all 1 when all parts are to be equal. What is
/// not known counts as the median of what is. A part that would be less than a sixteenth of an equal one
/// is none.
std::vector<uint32_t> best_weights(const std::vector<MemberLink>& links);

/// How long a round takes over so many bytes of vector [s], by the slowest direction of any member;
/// links as in best_weights(). Requires as many weights as links, and one that is not 0.
double round_seconds(const std::vector<MemberLink>& links, const std::vector<uint32_t>& weights,
                     double bytes);

/// The weights that the members of one stage are told: those of the round before, until others would
/// save a tenth of the round, or there are other members. Rates are measured, and never twice the same.
///
/// What is measured depends on the parts: who reduces little sends to who reduces much, all others do
/// too, and none is seen to send faster than its share of that one's link. So parts that were once too
/// unequal would stay so. Every so often one round has the parts that would be right if whoever is no
/// faster than the others' links explain were as fast as the fastest; what it shows counts from then on.
/// Who comes to those of the round before has a part as if its links were not known: what was seen of
/// them is old, and a part shows what they are now.
class PartWeights {
 public:
  /// `links`: of `members`, in their order.
  const std::vector<uint32_t>& next(const std::vector<PeerId>& members,
                                    const std::vector<MemberLink>& links);

 private:
  static constexpr int kFirstTrial = 8,
                       kLastTrial = 64;  ///< Rounds between trials, doubled each time.

  std::vector<PeerId> members_;
  std::vector<uint32_t> weights_;
  std::vector<uint32_t> before_trial_;  ///< Empty: the last round was none.
  int rounds_ = 0, trial_after_ = kFirstTrial;
};

}  // namespace swarm::routing
