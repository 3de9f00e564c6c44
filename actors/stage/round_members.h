/// Who takes part in a stage's rounds, as its CloseSteps say: the members in full, or by the id of
/// the list that an earlier one named in full. One owner.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "actors/net/requests.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

class RoundMembers {
 public:
  /// The averagers of the members, in the order of the list. Errors: kNotFound (an id that is not
  /// known: ask with the members), kInvalidArgument.
  Result<std::vector<AverageMember>> of(const proto::CloseStep& message);
  /// Since the last call, somebody has been left out who was in the list before.
  bool left_out() { return std::exchange(left_out_, false); }

 private:
  uint64_t id_ = 0;
  std::vector<PeerAddress> known_;
  bool left_out_ = false;
};

}  // namespace swarm::actors
