/// SplitMix64 (Steele, Lea & Flood 2014): the one source of reproducible numbers. The same input
/// gives the same output on every machine and compiler, which the distributions of the standard
/// library do not promise. Not for secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace swarm {

constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15ull;  ///< 2^64 / golden ratio, odd.

/// A bijection of 64 bits in which every input bit moves every output bit.
constexpr uint64_t mix(uint64_t x) {
  x += kSplitMixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// FNV-1a of `text`, going on from `state`. Put it through mix() where the upper bits matter.
constexpr uint64_t fnv1a(std::string_view text, uint64_t state = 0xcbf29ce484222325ull) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return state;
}

/// The generator: `mix` of a counter, so any seed will do and none has a short cycle.
/// One owner; not thread-safe.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  /// The next 64 bits.
  uint64_t next() {
    const uint64_t out = mix(state_);
    state_ += kSplitMixStep;
    return out;
  }
  /// In [0, 1), with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace swarm
