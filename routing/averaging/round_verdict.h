/// What became of one averaging round of a stage: a pure decision over the members' answers
/// (design Sec. 6: all or nothing).
#pragma once

#include <vector>

#include "common/ids.h"

namespace swarm::routing {

struct MemberAnswer {
  enum class Kind {
    kPending,    ///< No answer yet.
    kAveraged,   ///< Holds the whole average.
    kHoldsMore,  ///< Its sum held other slots than those that count; it dropped the sum.
    kFailed,     ///< Alive, but could not finish (a member was late or gone).
    kLost,       ///< Its link is gone.
    kNotFinite,  ///< Its numbers were not finite, a member says; its sum is of no use.
  };
  PeerId peer;
  Kind kind = Kind::kPending;
  bool excused = false;  ///< Its silence is no fault of its: it has longer than those that failed.
};

struct RoundVerdict {
  enum class Kind {
    kWait,      ///< Not decided yet.
    kAveraged,  ///< Every member holds the average.
    kAbandon,   ///< Tell the living members; form a new round.
  };
  Kind kind = Kind::kWait;
  std::vector<PeerId> lost;     ///< With kAbandon: silent while others failed; their sums are gone.
  std::vector<PeerId> dropped;  ///< With kAbandon: live, but their sums are gone.
  std::vector<PeerId> not_finite;  ///< With kAbandon: live, and their sums are not to be used.
  std::vector<PeerId> odd;         ///< With kAbandon: their average is another one than believed.
};

/// `grace_over`: enough time has passed since the first failure for a living member to answer.
RoundVerdict judge_round(const std::vector<MemberAnswer>& members, bool grace_over);

}  // namespace swarm::routing
