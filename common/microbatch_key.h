/// Which try of which microbatch: what requests, gradients and kept activations are known by.
#pragma once

#include <cstdint>
#include <tuple>

namespace swarm {

struct MicrobatchKey {
  uint64_t step = 0;
  uint32_t slot = 0;
  uint64_t attempt = 0;

  friend bool operator<(const MicrobatchKey& a, const MicrobatchKey& b) {
    return std::tie(a.step, a.slot, a.attempt) < std::tie(b.step, b.slot, b.attempt);
  }
  friend bool operator==(const MicrobatchKey& a, const MicrobatchKey& b) {
    return std::tie(a.step, a.slot, a.attempt) == std::tie(b.step, b.slot, b.attempt);
  }
};

}  // namespace swarm
