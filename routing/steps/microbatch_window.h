/// Which microbatches a peer takes now: by their step, or period, and by their attempt.
#pragma once

#include <cstdint>

#include "common/microbatch_key.h"
#include "common/result.h"
#include "common/strong_id.h"

namespace swarm::routing {

struct MicrobatchWindow {
  Step oldest;    ///< Earlier steps are over.
  Step computed;  ///< Later ones are taken, but wait in the queue until it is their turn.
  Step newest;    ///< The peer is behind those that send later ones.
};

/// Steps: the open one only. With `next_may_come`, because the average of the open step is in hand
/// or updates are delayed, microbatches of the next may overtake the commit; they wait.
MicrobatchWindow step_window(Step open_step, bool next_may_come);

/// Periods overlap: `open_periods` earlier ones are still taken. Nothing waits.
MicrobatchWindow period_window(Step period, uint64_t open_periods);

/// Attempts below `min_attempt` were leased before the swarm gathered last. Those of a later gathering are
/// of a swarm that goes on without this peer: its parameters may be those of another history.
/// Errors: kStaleStep (drop the work), kNotReady (try again in a moment).
Status admits(const MicrobatchWindow& window, Attempt min_attempt, const MicrobatchKey& key);

}  // namespace swarm::routing
