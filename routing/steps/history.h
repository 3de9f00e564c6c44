/// The name of a history: what was committed, in which order, computed on what. Two states of one
/// step are the same only if their histories are (docs/one_history.md).
///
/// Pure. Not for secrets: equal inputs give equal ids, and nobody can be kept from making them up.
#pragma once

#include <cstdint>
#include <vector>

#include "common/strong_id.h"

namespace swarm::routing {

/// 0: nothing was committed yet, or the state is older than these ids. Its upper 16 bits are the lowest of
/// the configuration's number that its last commit was decided in; below, a hash.
using History = StrongId<struct HistoryTag, uint64_t>;

constexpr int kHashBits = 48;
/// Its last commit is one of that configuration.
inline bool made_in(History history, uint64_t configuration) {
  return history != History() && history.value() >> kHashBits == (configuration & 0xffff);
}

/// Its last commit is one of an earlier configuration; of two far apart nobody can tell.
inline bool made_before(History history, uint64_t configuration) {
  const auto earlier = static_cast<uint16_t>(configuration - (history.value() >> kHashBits));
  return history != History() && earlier != 0 && earlier <= 0x8000;
}

/// Both may be of one history: they are equal, or one is not known.
inline bool goes_with(History a, History b) { return a == b || a == History() || b == History(); }

/// One update of the whole model.
struct CommitFacts {
  Step step;                      ///< That it led on from: the state after it is that of step + 1.
  std::vector<uint64_t> digests;  ///< Of each stage's average, by stage.
  Step computed_on;         ///< Whose parameters the gradients are of; `step` but when delayed.
  std::vector<Slot> skips;  ///< Slots that no stage counts, ascending.
  /// Number of the configuration that it is committed in. When the swarm has gone back it is another
  /// one: what is trained anew has another id than what was given up, even where its bits are equal.
  uint64_t configuration = 0;
};

/// Of the state that `commit` makes of one with the history `before`.
History history_after(History before, const CommitFacts& commit);

}  // namespace swarm::routing
