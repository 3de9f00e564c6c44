/// Which samples a slot is of: its index alone decides (invariant I10), whoever carries it. Pure.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "common/strong_id.h"

namespace swarm::routing {

struct SlotPlace {
  Step step;
  uint32_t slot = 0;
  bool validation =
      false;  ///< Its slots come after those of training, and alone after the last step.
};
struct StepSizes {
  uint64_t steps = 0;  ///< Of the run.
  uint64_t batch = 0;  ///< Samples of a step.
  uint32_t microbatch = 0;
};

/// One microbatch of samples, of the text or of what is kept back for validation.
inline std::vector<uint64_t> samples_of(const SlotPlace& place, const StepSizes& sizes) {
  const uint64_t slots = sizes.batch / sizes.microbatch;
  const uint64_t before = place.step.value() < sizes.steps ? slots : 0;
  const uint64_t first =
      place.validation ? (place.slot - before) * sizes.microbatch
                       : place.step.value() * sizes.batch + uint64_t{place.slot} * sizes.microbatch;
  std::vector<uint64_t> samples(sizes.microbatch);
  std::iota(samples.begin(), samples.end(), first);
  return samples;
}

}  // namespace swarm::routing
