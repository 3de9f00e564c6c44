/// Which snapshot a peer may not prune, as coordinators say. Pure; one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "common/keep_step.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// A word of an older term, or an older one of the same term, is heeded no more, whichever arrives last. The term is
/// the speaker's: that of the coordinator which a peer follows by then may be another one already.
class KeptSnapshot {
 public:
  /// True: from now on it is another one.
  bool heard(Term speaker, const KeepStep& keep) {
    const std::pair word(speaker, keep.order);
    if (word <= word_) return false;
    word_ = word;
    return std::exchange(step_, keep.step) != keep.step;
  }
  const std::optional<Step>& step() const { return step_; }

 private:
  std::optional<Step> step_;
  std::pair<Term, uint64_t> word_;
};

}  // namespace swarm::routing
