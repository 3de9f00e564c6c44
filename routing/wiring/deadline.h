/// How long a microbatch may take that has bytes to carry and others before it (docs/wiring.md,
/// "Deadlines"). Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace swarm::routing {

/// A link between stages that was never seen is taken to carry so much [bytes/s]: 8 Mb/s.
constexpr double kUnseenBytesPerS = 1e6;
/// What was seen may become so many times slower before anybody is given up for it.
constexpr double kPatienceOfBytes = 3;
/// A day: whatever bytes and paces make of it.
constexpr double kLongestDeadlineS = 86'400;

/// What a sender knows of the way of one microbatch, from its own links to the gradient's arrival.
struct Way {
  uint64_t bytes = 0;       ///< Of one microbatch where it goes from stage to stage.
  uint32_t boundaries = 0;  ///< Between stages that it crosses; it comes back over each.
  double ahead = 0;         ///< Microbatches of this sender that the peer has before it.
  double leaves_s = 0;      ///< Until it has left, at the own link's rate; 0: not known.
  /// Until it is back, and all before it, at the pace of the answers. Nothing: none has come yet.
  std::optional<double> paced_s;
};

/// No deadline is to be shorter [s], whatever the longest is: by what was seen; before that by the
/// bytes, as if all links between stages were slow.
double least_deadline_s(const Way& way);

/// Boundaries from a sender to a peer of `stage` and behind it.
inline uint32_t boundaries_from(uint32_t stage, uint32_t num_stages) {
  const uint32_t first = stage == 0 ? 1 : stage;  // tokens, which are small, cross the one before
  return num_stages > first ? num_stages - first : 0;
}

}  // namespace swarm::routing
