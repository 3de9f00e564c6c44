/// How the peers of a stage average.
#pragma once

#include <chrono>
#include <cstdint>

#include "tensor/core/options.h"

namespace swarm::actors {

/// Who sends what to whom in an all-reduce; actors/averaging/all_reduce.cc makes each.
enum class Topology : uint8_t {
  kButterfly,  ///< Each member reduces a part and sends its mean to all others.
  kTwoLevel,   ///< Groups of members sum, then those who summed the same part (docs/averaging.md).
  kAuto,       ///< Two levels with more than 16 members, else a butterfly.
};
/// As written in a file, in the order of the values.
inline constexpr const char* kTopologyNames[] = {"butterfly", "two_level", "auto"};

struct AveragerOptions {
  Topology topology = Topology::kAuto;
  uint32_t chunk_elements = 64u << 10;  ///< Of one part request; 256 KiB in float32.
  /// A member reduces no less: of many members with a short vector only some do, others in every round.
  /// Smaller: the work is shared more evenly, by messages that carry less; 16 KiB in float32.
  uint32_t min_part_elements = 4'096;
  uint32_t chunks_in_flight = 8;               ///< Per member.
  tensor::Codec codec = tensor::Codec::kNone;  ///< Of parts and averages.
  bool error_feedback = true;                  ///< What the codec takes is given back later.
  /// A round is given at least this long; a quarter of it once three rounds are known.
  std::chrono::milliseconds min_deadline{3'000};
};

}  // namespace swarm::actors
