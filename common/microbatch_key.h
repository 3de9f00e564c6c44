/// Which try of which microbatch: what requests, gradients and kept activations are known by.
#pragma once

#include <cstdint>
#include <tuple>

#include "common/strong_id.h"

namespace swarm {

struct MicrobatchKey {
  Step step;
  Slot slot;
  Attempt attempt;

  friend bool operator<(const MicrobatchKey& a, const MicrobatchKey& b) {
    return std::tie(a.step, a.slot, a.attempt) < std::tie(b.step, b.slot, b.attempt);
  }
  friend bool operator==(const MicrobatchKey& a, const MicrobatchKey& b) {
    return std::tie(a.step, a.slot, a.attempt) == std::tie(b.step, b.slot, b.attempt);
  }
};

}  // namespace swarm
