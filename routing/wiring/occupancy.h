/// What one microbatch takes of a peer, resource by resource (docs/wiring.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::routing {

/// Which cost of a peer the shares of work follow.
enum class WiringCost : uint8_t {
  kOccupancy,  ///< Occupancy::seconds(): how long a microbatch keeps the peer from the next.
  kResponse,   ///< From request to reply, as the sender sees it (paper, Sec. 3.2).
  kCompute,    ///< The peer's compute alone.
  kRandom,     ///< None: anybody, by lot.
  kFixed,      ///< None: a microbatch's number decides, the same place at every stage.
};
/// In the order of WiringCost, as in an experiment file.
const std::vector<std::string>& wiring_cost_names();

struct WiringOptions {
  WiringCost cost = WiringCost::kOccupancy;
};

/// The seconds for which one microbatch occupies a peer's computer, its node's links to all others
/// and the two directions between it and this sender. They work side by side, so the slowest is what
/// the peer can do: propagation and waiting are no part of it. 0: not known, which is not slow.
struct Occupancy {
  double compute_s = 0;
  double uplink_s = 0;
  double downlink_s = 0;
  double pair_s = 0;

  double seconds() const;
  /// The slowest part: "compute", "uplink", "downlink" or "pair"; "" when nothing is known.
  const char* slowest() const;
};

/// As told by somebody else: a part that no microbatch can take (not finite, negative, longer than
/// a day) counts as not known.
Occupancy checked(Occupancy told);

/// Time of `bytes` at `bytes_per_s` [s]; 0 where the rate is not known.
double seconds_at(uint64_t bytes, double bytes_per_s);

}  // namespace swarm::routing
