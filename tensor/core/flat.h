/// Arithmetic on flat float32 vectors: gradient sums, averaging, the optimizer's update.
///
/// Pure, thread-safe for disjoint outputs. The same input gives the same bits on every machine:
/// no contraction to FMA, fixed order of summation (invariant I2: replicas stay bit-identical).
/// Pointers need only the alignment of float, and do not overlap unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swarm::tensor {

/// sum[i] += x[i]. The ranges do not overlap.
void add_into(float* sum, const float* x, size_t n);

/// x[i] *= factor.
void scale(float* x, size_t n, float factor);

/// Sum of x[i]^2, accumulated in double. Not finite if an element is not.
double squared_norm(const float* x, size_t n);

/// No infinity and no NaN.
bool all_finite(const float* x, size_t n);

/// xxh64 (seed 0) of `size_bytes` bytes.
uint64_t digest(const void* data, size_t size_bytes);

/// One AdamW update (Loshchilov & Hutter 2019), decay decoupled from the gradient.
struct AdamwStep {
  float learning_rate = 0;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  float weight_decay = 0;    ///< 0 for norms, biases and positions.
  float gradient_scale = 1;  ///< Clipping.
  float correction1 = 1;     ///< 1 / (1 - beta1^t), t the number of this update, from 1.
  float correction2 = 1;     ///< 1 / (1 - beta2^t).
};
/// In one pass over [n]: moments, then
/// to = from * (1 - lr * decay) - lr * correction1 * m / (sqrt(correction2 * v) + eps).
/// `to` is `from` or does not overlap it; the same bits either way.
void adamw_update(const AdamwStep& step, const float* from, float* to, float* first_moment,
                  float* second_moment, const float* gradient, size_t n);

/// One update of Nesterov's method with Adam's preconditioner, a discounted gradient and decoupled
/// decay (tensor/core/optimizer.h says where the rates come from).
struct NesterovStep {
  float learning_rate = 0;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  float rest1 = 1, rest2 = 1;  ///< 1 - beta1, 1 - beta2.
  float weight_decay = 0;      ///< 0 for norms, biases and positions.
  float gradient_scale = 1;    ///< Clipping.
  float gradient_rate = 0;     ///< lr * (1 - mu_t) / (1 - P_t): of the discounted gradient.
  float momentum_rate = 0;     ///< lr * mu_(t+1) / (1 - P_t * mu_(t+1)): of the look-ahead.
  float correction2 = 1;       ///< 1 / (1 - beta2^t).
};
/// In one pass over [n]: moments, then to = from * (1 - lr * decay) - (gradient_rate * g +
/// momentum_rate * m) / (sqrt(correction2 * v) + eps). `to` as in adamw_update().
void nesterov_update(const NesterovStep& step, const float* from, float* to, float* first_moment,
                     float* second_moment, const float* gradient, size_t n);

/// to[i] = from[i] + (average[i] - sent[i]); exactly average[i] where from[i] is still sent[i].
/// `to` is `from` or does not overlap it.
void add_difference(const float* from, const float* average, const float* sent, float* to,
                    size_t n);

}  // namespace swarm::tensor
