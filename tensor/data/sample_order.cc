#include "tensor/data/sample_order.h"

#include <numeric>

#include "common/check.h"
#include "common/mix.h"

namespace swarm::tensor {
namespace {

constexpr int kRounds = 6;

/// A bijection of [0, 2^(2 * half_bits)).
uint64_t feistel(uint64_t key, uint64_t value, int half_bits) {
  const uint64_t mask = (1ull << half_bits) - 1;
  uint64_t left = value >> half_bits, right = value & mask;
  for (int round = 0; round < kRounds; ++round) {
    uint64_t next = left ^ (mix(key ^ mix(right ^ (static_cast<uint64_t>(round) << 56))) & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

}  // namespace

uint64_t sample_window(uint64_t seed, uint64_t sample, uint64_t num_windows) {
  SWARM_CHECK(num_windows >= 1 && num_windows <= 1ull << 62);
  const uint64_t key = mix(mix(seed) ^ (sample / num_windows));
  int half_bits = 1;
  while (1ull << (2 * half_bits) < num_windows) ++half_bits;
  uint64_t position = sample % num_windows;
  do {
    position = feistel(key, position, half_bits);
  } while (position >= num_windows);
  return position;
}

uint64_t validation_window(uint64_t sample, uint64_t num_windows) {
  SWARM_CHECK(num_windows >= 1 && num_windows <= 1ull << 53);
  auto stride = static_cast<uint64_t>(static_cast<double>(num_windows) * 0.6180339887498949);
  if (stride == 0) stride = 1;
  while (std::gcd(stride, num_windows) != 1) ++stride;
  // 128 bits: the product of two window numbers may not fit in 64.
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(Wide(sample % num_windows) * stride % num_windows);
}

}  // namespace swarm::tensor
