/// Who coordinates: a pure decision over what the DHT says of the trainer nodes (design Sec. 3 and
/// 5). Equal records lead every candidate to the same decision; terms settle the rest.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// What a trainer node says of itself.
struct Candidate {
  NodeId node;
  Term term;            ///< The highest it has seen; its own if active.
  bool active = false;  ///< It coordinates.
};

struct ElectionDecision {
  enum class Kind {
    kWait,      ///< Another node should take over; look again later.
    kFollow,    ///< `leader` coordinates.
    kTakeOver,  ///< Become active with `term`.
    kLead,      ///< Keep coordinating.
    kStepDown,  ///< A newer coordinator exists: `leader`.
  };
  Kind kind = Kind::kWait;
  NodeId leader;
  Term term;
  std::string reason;
};

/// `self` is this node (its own record may be missing from `candidates`); `dead` are nodes whose
/// link was lost. The active candidate with the highest (term, node) leads; without one the
/// smallest living node takes over with a term above all seen.
ElectionDecision elect(const Candidate& self, const std::vector<Candidate>& candidates,
                       const std::set<NodeId>& dead);

}  // namespace swarm::routing
