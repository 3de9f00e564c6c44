#include "routing/steps/microbatch_window.h"

#include <fmt/format.h>

#include "routing/steps/attempts.h"

namespace swarm::routing {

MicrobatchWindow step_window(Step open_step, bool next_may_come) {
  return {open_step, open_step, open_step + (next_may_come ? 1 : 0)};
}

MicrobatchWindow period_window(Step period, uint64_t open_periods) {
  const Step newest = period + 2 * open_periods;
  return {period.value() > open_periods ? period - open_periods : Step(0), newest, newest};
}

Status admits(const MicrobatchWindow& window, Attempt min_attempt, const MicrobatchKey& key) {
  if (key.step < window.oldest)
    return Error{ErrorCode::kStaleStep, fmt::format("the peer is past step {}", window.oldest - 1)};
  if (key.attempt < min_attempt)
    return Error{ErrorCode::kStaleStep, "the attempt was leased before the swarm gathered"};
  // Steps of equal number may be of two histories until the peer has been admitted again.
  if (is_of_later_gathering(key.attempt, min_attempt))
    return Error{ErrorCode::kNotReady, "the swarm has gathered without this peer", 100};
  if (key.step > window.newest)
    return Error{ErrorCode::kNotReady,
                 fmt::format("the peer is behind, it takes steps up to {}", window.newest), 20};
  return {};
}

}  // namespace swarm::routing
