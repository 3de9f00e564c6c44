/// An all-reduce whose members are all in this process: what came out for each of them. No mail.
#pragma once

#include <optional>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/error_feedback.h"

namespace swarm::replay {

struct RoundOutcome {
  Buffer mean;  ///< float32 [n]; of all members.
  double squared_norm = 0;
  uint64_t digest = 0;
  std::vector<std::optional<tensor::Residuals>> residuals;  ///< By member, for its next round.
};

/// `members`: the round as each of them sees it. Errors: as validate(), and of AllReduce's functions;
/// kNonFinite; kInternal (it does not end).
Result<RoundOutcome> make_round(const actors::AllReduceSetup& setup,
                                std::vector<actors::AverageRound> members);

}  // namespace swarm::replay
