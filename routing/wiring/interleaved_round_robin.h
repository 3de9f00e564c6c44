/// Chooses which peer of one pipeline stage serves the next microbatch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "common/ids.h"
#include "common/mix.h"
#include "common/result.h"

namespace swarm::routing {

/// Interleaved weighted round-robin (paper, Sec. 3.2, stochastic wiring) in its priority-queue
/// form: each peer has a virtual clock [s]; pick() takes the earliest and moves it on by samples /
/// throughput, so work is shared in proportion to throughput.
///
/// Pure: no time, threads or I/O; what is drawn follows from the seed. Not thread-safe; one owner.
class InterleavedRoundRobin {
 public:
  /// `seed`: senders that draw alike would all begin with the same peer.
  explicit InterleavedRoundRobin(uint64_t seed = 1) : random_(seed) {}

  /// Adds `peer` or updates its throughput. Requires samples_per_s > 0.
  /// A new peer starts at the earliest clock: measured soon, not flooded.
  void upsert(const PeerId& peer, double samples_per_s);

  /// Forgets `peer` (banned, expired, gone). Unknown peers are ignored.
  void remove(const PeerId& peer);

  /// Books `num_samples` on a peer and returns it. Peers for which `excluded` is true are passed
  /// over and save nothing up: their clocks do not stay behind. Ties are drawn.
  /// Errors: kNoLivePeer.
  Result<PeerId> pick(int64_t num_samples, const std::function<bool(const PeerId&)>& excluded = {});

  bool contains(const PeerId& peer) const;
  size_t size() const;
  std::vector<PeerId> peers() const;

 private:
  struct Entry {
    double clock_s = 0;
    double samples_per_s = 1;
  };
  std::map<PeerId, Entry> entries_;
  SplitMix64 random_;
};

}  // namespace swarm::routing
