// NAG, Nesterov's method against stale gradients with Adam's preconditioner and a discounted
// gradient (Ajanthan et al. 2025; asynchronous SWARM). The stored w is the look-ahead point, so
// forward, backward, averaging and snapshots all use w; t counts the updates from 1,
//     mu_t = b1 (1 - 0.5 * 0.96^(t psi));   P = mu_1 * ... * mu_t;   m, v as in adamw.cc
//     w = w (1 - lr wd)
//         - lr ((1 - mu_t) / (1 - P) g + mu_(t+1) / (1 - P mu_(t+1)) m)
//           / (sqrt(v / (1 - b2^t)) + eps).
#include <cmath>
#include <utility>

#include "tensor/core/clones.h"
#include "tensor/optimizers/adam.h"

namespace swarm::tensor {

const OptimizerInfo& nag_info();  // a row of tensor/optimizers.cc

namespace {

struct Rates : AdamRates {
  float gradient_rate = 0;  ///< lr * (1 - mu_t) / (1 - P): of the discounted gradient.
  float momentum_rate = 0;  ///< lr * mu_(t+1) / (1 - P * mu_(t+1)): of the look-ahead.
};

// `to` may be `from`: element i depends on element i alone, which SWARM_INDEPENDENT says.
SWARM_CLONES void update(const Rates& rates, const float* from, float* to,
                         float* __restrict first_moment, float* __restrict second_moment,
                         const float* __restrict gradient, size_t n) {
  const float keep = 1 - rates.learning_rate * rates.weight_decay;
  const float beta1 = rates.beta1, beta2 = rates.beta2, epsilon = rates.epsilon;
  const float rest1 = rates.rest1, rest2 = rates.rest2, gradient_scale = rates.gradient_scale;
  const float gradient_rate = rates.gradient_rate, momentum_rate = rates.momentum_rate;
  const float correction2 = rates.correction2;
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

class Nesterov final : public Optimizer {
 public:
  Nesterov(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
           ParallelFor parallel)
      : Optimizer(options, layout, std::move(parallel)) {}

 private:
  double momentum(double t) const {
    return options_.beta1 * (1 - 0.5 * std::pow(0.96, t * options_.momentum_decay));
  }
  void begin(double learning_rate, double gradient_scale) override {
    const auto t = static_cast<double>(++counters_.updates);
    const double now = momentum(t), next = momentum(t + 1);
    const double product = counters_.momentum_product *= now;
    static_cast<AdamRates&>(rates_) = adam_rates(options_, t, learning_rate, gradient_scale);
    rates_.gradient_rate = static_cast<float>(learning_rate * (1 - now) / (1 - product));
    rates_.momentum_rate = static_cast<float>(learning_rate * next / (1 - product * next));
  }
  void run(float weight_decay, float, const float* gradient, const float* from, float* to,
           float* const* moments, size_t n) const override {
    update(with_decay(rates_, weight_decay), from, to, moments[0], moments[1], gradient, n);
  }

  Rates rates_;
};

}  // namespace

const OptimizerInfo& nag_info() {
  static const OptimizerInfo row = {"nag", adam_moments(),
                                    /*has_momentum_product=*/true,
                                    /*layer_wise=*/false, make_optimizer<Nesterov>};
  return row;
}

}  // namespace swarm::tensor
