/// What the benchmarks make of their measurements. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/statistics.h"

namespace swarm::apps {

/// One size and number of peers of `swarm bench averaging`. Seconds are of whole rounds: from the
/// moment all peers are told to start until the last one has the mean.
struct AveragingFigures {
  uint64_t elements = 0;
  uint32_t peers = 0;
  double first_s = 0;          ///< Our first round, which also faults in fresh memory.
  std::vector<double> ours_s;  ///< The later ones.
  std::vector<double> gloo_s;  ///< Rounds of the algorithm below; empty without Gloo.
  std::string gloo_algorithm;  ///< The fastest of its algorithms here.

  double ours() const { return median(ours_s); }
  double gloo() const { return median(gloo_s); }
  double ratio() const { return gloo_s.empty() ? 0 : ours() / gloo(); }
  /// float32 bytes of one vector divided by our median [GB/s].
  double gigabytes_per_s() const;
};

/// A table for people and one JSON object {"averaging": [...]} for programs.
std::string averaging_table(const std::vector<AveragingFigures>& all);
std::string averaging_json(const std::vector<AveragingFigures>& all);

/// What member `member` brings to element `element` in the benchmark: small whole numbers, so that
/// sums are exact in any order and a wrong sum cannot look right.
inline float averaging_input(uint64_t element, uint32_t member) {
  return static_cast<float>(
      static_cast<int>((element * 2654435761u + member * 40503u) >> 7 & 1023u) - 512);
}

}  // namespace swarm::apps
