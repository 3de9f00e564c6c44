// LAMB (You et al. 2020): AdamW's direction u, with bias correction and decoupled decay, and of each
// matrix as long as a part of the matrix's own norm. t counts the updates from 1,
//     m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2
//     u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w
//     w = w - lr |w| / |u| u.
// The factor |w| / |u| is 1 where either norm is 0, and of what has no weight decay (norms, biases,
// positions), as in the authors' code; it has no other bounds.
#include <cmath>
#include <utility>

#include "tensor/core/clones.h"
#include "tensor/optimizers/adam.h"

namespace swarm::tensor {

const OptimizerInfo& lamb_info();  // a row of tensor/optimizers.cc

namespace {

/// u of the moments as they are after this gradient: one expression for both that follow, and so the same
/// bits.
inline float direction_of(const AdamRates& r, float m, float v, float value) {
  return m * r.correction1 / (std::sqrt(v * r.correction2) + r.epsilon) + r.weight_decay * value;
}

// Element i of both depends on element i alone, which SWARM_INDEPENDENT says.

SWARM_CLONES void directions(const AdamRates& rates, const float* __restrict from,
                             const float* __restrict first_moment,
                             const float* __restrict second_moment,
                             const float* __restrict gradient, float* __restrict direction,
                             size_t n) {
  const AdamRates r = rates;
  for (size_t i = 0; i < n; ++i) {
    float g = gradient[i] * r.gradient_scale;
    float m = r.beta1 * first_moment[i] + r.rest1 * g;
    float v = r.beta2 * second_moment[i] + r.rest2 * (g * g);
    direction[i] = direction_of(r, m, v, from[i]);
  }
}

// `to` may be `from`.
SWARM_CLONES void update(const AdamRates& rates, float factor, const float* from, float* to,
                         float* __restrict first_moment, float* __restrict second_moment,
                         const float* __restrict gradient, size_t n) {
  const AdamRates r = rates;
  const float rate = r.learning_rate * factor;
  SWARM_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    float g = gradient[i] * r.gradient_scale;
    float m = r.beta1 * first_moment[i] + r.rest1 * g;
    float v = r.beta2 * second_moment[i] + r.rest2 * (g * g);
    first_moment[i] = m;
    second_moment[i] = v;
    to[i] = from[i] - rate * direction_of(r, m, v, from[i]);
  }
}

class Lamb final : public Optimizer {
 public:
  Lamb(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
       ParallelFor parallel)
      : Optimizer(options, layout, std::move(parallel)) {}

 private:
  void begin(double learning_rate, double gradient_scale) override {
    const auto t = static_cast<double>(++counters_.updates);
    rates_ = adam_rates(options_, t, learning_rate, gradient_scale);
  }
  void run(float weight_decay, float factor, const float* gradient, const float* from, float* to,
           float* const* moments, size_t n) const override {
    update(with_decay(rates_, weight_decay), factor, from, to, moments[0], moments[1], gradient, n);
  }
  void measure(float weight_decay, const float* gradient, const float* from,
               const float* const* moments, float* direction, size_t n) const override {
    directions(with_decay(rates_, weight_decay), from, moments[0], moments[1], gradient, direction,
               n);
  }

  AdamRates rates_;
};

}  // namespace

const OptimizerInfo& lamb_info() {
  static const OptimizerInfo row = {"lamb", adam_moments(),
                                    /*has_momentum_product=*/false,
                                    /*layer_wise=*/true, make_optimizer<Lamb>};
  return row;
}

}  // namespace swarm::tensor
