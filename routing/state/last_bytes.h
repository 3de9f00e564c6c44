/// How long a node that leaves goes on sending what others wait for: as its bytes need at the rate
/// that was seen, some times over, and no longer than it may.
///
/// Pure: time is an argument. One owner.
#pragma once

#include <cstdint>
#include <optional>

#include "routing/time.h"

namespace swarm::routing {

class LastBytes {
 public:
  /// Of what was expected. A link that carries nothing at all says so after kStuck.
  static constexpr double kPatience = 3;
  static constexpr Time kStuck = std::chrono::seconds(1);
  /// Where no rate was seen [bytes/s].
  static constexpr double kUnseenRate = 1e6;

  /// Nothing is sent after `end`.
  explicit LastBytes(Time end) : end_(end) {}

  /// So many bytes are queued, at a rate of all links together of so many bytes/s (0: not known).
  /// False: it is over.
  bool go_on(uint64_t queued, double bytes_per_s, Time now);

 private:
  Time end_;
  std::optional<Time> moved_at_;
  uint64_t queued_ = 0;
};

}  // namespace swarm::routing
