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
  Term term;             ///< The highest it has seen; its own if active.
  bool active = false;   ///< It coordinates.
  uint64_t version = 0;  ///< Of its record; grows while it lives.
  /// Not 0: it has led and could not reach all stages: others first. Grows with each that resigns, so
  /// of those that have the one that tried longest ago is the first to try again.
  uint32_t yields = 0;
  uint32_t vain = 0;  ///< Reigns in a row that have opened no step, as far as it knows.
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
  Term term;  ///< With kTakeOver the new one, else the leader's or the highest seen.
  std::string reason;
};

/// The highest term that any of these has seen; not those that jump above what `self` has seen (term.h): a
/// record is anybody's word.
Term highest_term(const Candidate& self, const std::vector<Candidate>& candidates);

/// `self` is this node (its own record may be missing from `candidates`); `dead` are nodes whose
/// link was lost and that have not shown since that they live. The active candidate with the highest
/// (term, node) leads; without one the living node of the smallest (yields, node) takes over, with a
/// term above all seen. One whose term jumps is followed if no other leads, and nobody steps down for it:
/// voters say if a newer one leads (consent.h).
ElectionDecision elect(const Candidate& self, const std::vector<Candidate>& candidates,
                       const std::set<NodeId>& dead);

}  // namespace swarm::routing
