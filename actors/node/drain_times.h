/// How long who waits for a node that leaves. All follow from node.grace_s: each waits a
/// little longer than the one inside it, so that whoever hangs is given up by who knows best why.
#pragma once

#include <algorithm>
#include <chrono>

namespace swarm::actors {

struct DrainTimes {
  std::chrono::milliseconds vote;  ///< A voter, for a configuration without it.
  std::chrono::milliseconds
      roles;                       ///< The supervisor, for its roles and what the links still have.
  std::chrono::milliseconds node;  ///< The node's main thread, for the supervisor.
  std::chrono::milliseconds process;   ///< Then it ends itself, whatever hangs.
  std::chrono::milliseconds launcher;  ///< Then `swarm run` kills it.
};

inline DrainTimes drain_times(double limit_s) {
  const std::chrono::milliseconds limit(static_cast<int64_t>(std::max(limit_s, 0.0) * 1000));
  using std::chrono::seconds;
  const std::chrono::milliseconds vote = std::min<std::chrono::milliseconds>(seconds(3), limit / 2);
  return {vote, limit, limit + seconds(2), limit + seconds(5), limit + seconds(7)};
}

}  // namespace swarm::actors
