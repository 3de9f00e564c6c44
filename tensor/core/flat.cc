#include "tensor/core/flat.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "tensor/core/clones.h"

namespace swarm::tensor {

SWARM_CLONES void add_into(float* __restrict sum, const float* __restrict x, size_t n) {
  for (size_t i = 0; i < n; ++i) sum[i] += x[i];
}

SWARM_CLONES void add_scaled(float* __restrict sum, const float* __restrict x, float factor,
                             size_t n) {
  for (size_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

SWARM_CLONES void scale(float* x, size_t n, float factor) {
  for (size_t i = 0; i < n; ++i) x[i] *= factor;
}

SWARM_CLONES double squared_norm(const float* x, size_t n) {
  // Fixed lanes, whatever the vector width of the clone: the order of additions never changes.
  constexpr size_t kLanes = 32;
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      double value = x[i + lane];
      lanes[lane] += value * value;
    }
  }
  for (size_t lane = 0; i < n; ++i, ++lane) {
    double value = x[i];
    lanes[lane] += value * value;
  }
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

SWARM_CLONES bool all_finite(const float* x, size_t n) {
  uint32_t largest = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest < 0x7f800000;
}

Buffer aligned_floats(const Buffer& values) {
  if (reinterpret_cast<uintptr_t>(values.data()) % alignof(float) == 0) return values;
  MutableBuffer moved = MutableBuffer::allocate(values.size());
  std::memcpy(moved.data(), values.data(), values.size());
  return moved.freeze();
}

SWARM_CLONES uint64_t word_sum(const float* x, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    sum += bits;
  }
  return sum;
}

uint64_t digest(const void* data, size_t size_bytes) { return XXH64(data, size_bytes, 0); }

NormAndDigest norm_and_digest(const float* x, size_t n) {
  constexpr size_t kBlock = 16'384;  // 64 KiB stay in a core's own cache
  NormAndDigest out;
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state(XXH64_createState(),
                                                                         XXH64_freeState);
  XXH64_reset(state.get(), 0);
  for (size_t at = 0; at < n; at += kBlock) {
    const size_t count = std::min(kBlock, n - at);
    XXH64_update(state.get(), x + at, count * sizeof(float));
    out.squared_norm += squared_norm(x + at, count);
  }
  out.digest = XXH64_digest(state.get());
  return out;
}

// `to` may be `from`: element i depends on element i alone, which SWARM_INDEPENDENT says.

SWARM_CLONES void add_difference(const float* from, const float* __restrict average,
                                 const float* __restrict sent, float* to, size_t n) {
  SWARM_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    float moved = from[i] + (average[i] - sent[i]);
    to[i] = from[i] == sent[i] ? average[i] : moved;
  }
}

}  // namespace swarm::tensor
