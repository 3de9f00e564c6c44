// AdamW (Loshchilov & Hutter 2019), its decay decoupled from the gradient: t counts the updates
// from 1,
//     m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2
//     w = w (1 - lr wd) - lr m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps).
#include <cmath>
#include <utility>

#include "tensor/core/clones.h"
#include "tensor/core/optimizer.h"

namespace swarm::tensor {

const OptimizerInfo& adamw_info();  // a row of tensor/optimizers.cc

namespace {

struct Rates {
  float learning_rate = 0;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  float weight_decay = 0;    ///< 0 for norms, biases and positions.
  float gradient_scale = 1;  ///< Clipping.
  float correction1 = 1;     ///< 1 / (1 - beta1^t), t the number of this update, from 1.
  float correction2 = 1;     ///< 1 / (1 - beta2^t).
};

// `to` may be `from`: element i depends on element i alone, which SWARM_INDEPENDENT says.
SWARM_CLONES void update(const Rates& rates, const float* from, float* to,
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
    rates_.learning_rate = static_cast<float>(learning_rate);
    rates_.beta1 = static_cast<float>(options_.beta1);
    rates_.beta2 = static_cast<float>(options_.beta2);
    rates_.epsilon = static_cast<float>(options_.epsilon);
    rates_.gradient_scale = static_cast<float>(gradient_scale);
    rates_.correction1 = static_cast<float>(1 / (1 - std::pow(options_.beta1, t)));
    rates_.correction2 = static_cast<float>(1 / (1 - std::pow(options_.beta2, t)));
  }
  void run(float weight_decay, float, const float* gradient, const float* from, float* to,
           float* const* moments, size_t n) const override {
    Rates rates = rates_;
    rates.weight_decay = weight_decay;
    update(rates, from, to, moments[0], moments[1], gradient, n);
  }

  Rates rates_;
};

std::unique_ptr<Optimizer> make(const OptimizerOptions& options,
                                const std::vector<ParameterInfo>& layout, ParallelFor parallel) {
  return std::make_unique<Adamw>(options, layout, std::move(parallel));
}

}  // namespace

const OptimizerInfo& adamw_info() {
  static const OptimizerInfo row = {"adamw",
                                    {{"first_moments", false}, {"second_moments", true}},
                                    /*has_momentum_product=*/false,
                                    /*layer_wise=*/false,
                                    make};
  return row;
}

}  // namespace swarm::tensor
