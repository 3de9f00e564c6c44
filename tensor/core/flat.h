/// Arithmetic on flat float32 vectors: gradient sums, averaging. (Updates: tensor/optimizers/.)
///
/// Pure, thread-safe for disjoint outputs. The same input gives the same bits on every machine:
/// no contraction to FMA, fixed order of summation (invariant I2: replicas stay bit-identical).
/// Pointers need only the alignment of float, and do not overlap unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/buffer.h"

namespace swarm::tensor {

/// sum[i] += x[i]. The ranges do not overlap.
void add_into(float* sum, const float* x, size_t n);

/// sum[i] += factor * x[i], rounded twice. The ranges do not overlap.
void add_scaled(float* sum, const float* x, float factor, size_t n);

/// x[i] *= factor.
void scale(float* x, size_t n, float factor);

/// Sum of x[i]^2, accumulated in double. Not finite if an element is not.
double squared_norm(const float* x, size_t n);

/// No infinity and no NaN.
bool all_finite(const float* x, size_t n);

/// `values` themselves, or a copy if floats cannot be read from where they are (a part of a frame).
Buffer aligned_floats(const Buffer& values);

/// xxh64 (seed 0) of `size_bytes` bytes.
uint64_t digest(const void* data, size_t size_bytes);

/// Both of x [n] at once: it is read from memory once. The norm's square adds up blocks, so its last bits
/// are not squared_norm()'s.
struct NormAndDigest {
  double squared_norm = 0;
  uint64_t digest = 0;
};
NormAndDigest norm_and_digest(const float* x, size_t n);

/// The sum of the numbers' bits, as 32-bit words, mod 2^64: another one if a bit has turned. As quick as memory,
/// twice as quick as digest(), and of no use where words may change places.
uint64_t word_sum(const float* x, size_t n);

/// to[i] = from[i] + (average[i] - sent[i]); exactly average[i] where from[i] is still sent[i].
/// `to` is `from` or does not overlap it.
void add_difference(const float* from, const float* average, const float* sent, float* to,
                    size_t n);

}  // namespace swarm::tensor
