/// The bits of a float32 and back: what std::bit_cast is from C++20 on. Pure.
#pragma once

#include <cstdint>
#include <cstring>

namespace swarm::tensor {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace swarm::tensor
