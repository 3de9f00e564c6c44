// AdamW (Loshchilov & Hutter 2019), its decay decoupled from the gradient: t counts the updates
// from 1,
//     m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2
//     w = w (1 - lr wd) - lr m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps).
#include <cmath>
#include <utility>

#include "tensor/core/clones.h"
#include "tensor/optimizers/adam.h"

namespace swarm::tensor {

const OptimizerInfo& adamw_info();  // a row of tensor/optimizers.cc

namespace {

// `to` may be `from`: element i depends on element i alone, which SWARM_INDEPENDENT says.
SWARM_CLONES void update(const AdamRates& rates, const float* from, float* to,
                         float* __restrict first_moment, float* __restrict second_moment,
                         const float* __restrict gradient, size_t n) {
  const float keep = 1 - rates.learning_rate * rates.weight_decay;
  const float rate = rates.learning_rate * rates.correction1;
  const float beta1 = rates.beta1, beta2 = rates.beta2, epsilon = rates.epsilon;
  const float correction2 = rates.correction2, gradient_scale = rates.gradient_scale;
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

class Adamw final : public Optimizer {
 public:
  Adamw(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
        ParallelFor parallel)
      : Optimizer(options, layout, std::move(parallel)) {}

 private:
  void begin(double learning_rate, double gradient_scale) override {
    const auto t = static_cast<double>(++counters_.updates);
    rates_ = adam_rates(options_, t, learning_rate, gradient_scale);
  }
  void run(float weight_decay, float, const float* gradient, const float* from, float* to,
           float* const* moments, size_t n) const override {
    update(with_decay(rates_, weight_decay), from, to, moments[0], moments[1], gradient, n);
  }

  AdamRates rates_;
};

}  // namespace

const OptimizerInfo& adamw_info() {
  static const OptimizerInfo row = {"adamw", adam_moments(),
                                    /*has_momentum_product=*/false,
                                    /*layer_wise=*/false, make_optimizer<Adamw>};
  return row;
}

}  // namespace swarm::tensor
