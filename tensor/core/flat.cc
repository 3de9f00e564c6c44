#include "tensor/core/flat.h"

#include <xxhash.h>

#include <cmath>
#include <cstring>

#include "tensor/core/clones.h"

namespace swarm::tensor {

SWARM_CLONES void add_into(float* __restrict sum, const float* __restrict x, size_t n) {
  for (size_t i = 0; i < n; ++i) sum[i] += x[i];
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

uint64_t digest(const void* data, size_t size_bytes) { return XXH64(data, size_bytes, 0); }

// `to` may be `from`: element i depends on element i alone, which SWARM_INDEPENDENT says.

SWARM_CLONES void adamw_update(const AdamwStep& step, const float* from, float* to,
                               float* __restrict first_moment, float* __restrict second_moment,
                               const float* __restrict gradient, size_t n) {
  const float keep = 1 - step.learning_rate * step.weight_decay;
  const float rate = step.learning_rate * step.correction1;
  const float beta1 = step.beta1, beta2 = step.beta2, epsilon = step.epsilon;
  const float correction2 = step.correction2, gradient_scale = step.gradient_scale;
  SWARM_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    float g = gradient[i] * gradient_scale;
    float m = beta1 * first_moment[i] + (1 - beta1) * g;
    float v = beta2 * second_moment[i] + (1 - beta2) * (g * g);
    first_moment[i] = m;
    second_moment[i] = v;
    to[i] = from[i] * keep - rate * m / (std::sqrt(v * correction2) + epsilon);
  }
}

SWARM_CLONES void nesterov_update(const NesterovStep& step, const float* from, float* to,
                                  float* __restrict first_moment, float* __restrict second_moment,
                                  const float* __restrict gradient, size_t n) {
  const float keep = 1 - step.learning_rate * step.weight_decay;
  const float beta1 = step.beta1, beta2 = step.beta2, epsilon = step.epsilon;
  const float rest1 = step.rest1, rest2 = step.rest2, gradient_scale = step.gradient_scale;
  const float gradient_rate = step.gradient_rate, momentum_rate = step.momentum_rate;
  const float correction2 = step.correction2;
  SWARM_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    float g = gradient[i] * gradient_scale;
    float m = beta1 * first_moment[i] + rest1 * g;
    float v = beta2 * second_moment[i] + rest2 * (g * g);
    first_moment[i] = m;
    second_moment[i] = v;
    float ahead = gradient_rate * g + momentum_rate * m;
    to[i] = from[i] * keep - ahead / (std::sqrt(v * correction2) + epsilon);
  }
}

SWARM_CLONES void add_difference(const float* from, const float* __restrict average,
                                 const float* __restrict sent, float* to, size_t n) {
  SWARM_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    float moved = from[i] + (average[i] - sent[i]);
    to[i] = from[i] == sent[i] ? average[i] : moved;
  }
}

}  // namespace swarm::tensor
