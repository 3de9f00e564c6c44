/// Staleness of gradients in asynchronous mode: how many updates passed at a peer between the
/// forward of a microbatch and the use of its gradient. Counted for every update, never derived.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "swarm/train.pb.h"

namespace swarm::actors {

struct Staleness {
  static constexpr size_t kEntries = 64;  ///< The last entry counts everything from there on.

  std::vector<uint64_t> histogram;  ///< Entry k: gradients that were k updates old.
  uint64_t sum = 0, max = 0;

  void add(uint64_t updates);
  void merge(const Staleness& other);
  uint64_t count() const;
  double mean() const;  ///< 0 without gradients.
  /// "mean 1.5 max 4 (0:12 1:30 4:1)"; for the console.
  std::string text() const;

  static Staleness from(const proto::EndPeriodReply& reply);
  void write(proto::EndPeriodReply& reply) const;
};

}  // namespace swarm::actors
