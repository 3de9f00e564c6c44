/// What a stage holds as mere memory, which may break: looked over, and broken on purpose.
#pragma once

#include <cstdint>

#include "tensor/core/bit_fault_options.h"
#include "tensor/core/float_bits.h"

namespace swarm::tensor {

class StageMemory {
 public:
  virtual ~StageMemory() = default;

  /// Of the gradient sum's bytes, which are read once where they lie: another one if a bit has turned.
  virtual uint64_t sum_checksum() const = 0;

  /// A defect: turns a bit of the element in the middle of `part`, behind everybody's back.
  virtual void flip_bit(StatePart part) = 0;

 protected:
  /// 2^-13 of the value: more than rounding, and little while it lasts.
  static void flip_low_bit(float& value) { value = float_of(bits_of(value) ^ (1u << 10)); }
};

}  // namespace swarm::tensor
