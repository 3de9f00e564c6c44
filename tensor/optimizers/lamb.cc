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
#include "tensor/core/optimizer.h"

namespace swarm::tensor {

const OptimizerInfo& lamb_info();  // a row of tensor/optimizers.cc

namespace {

struct Rates {
  float learning_rate = 0;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  float rest1 = 1, rest2 = 1;  ///< 1 - beta, each rounded once.
  float weight_decay = 0;      ///< 0 for norms, biases and positions.
  float gradient_scale = 1;    ///< Clipping.
  float correction1 = 1;       ///< 1 / (1 - beta1^t), t the number of this update, from 1.
  float correction2 = 1;       ///< 1 / (1 - beta2^t).
};

// Element i of both depends on element i alone, which SWARM_INDEPENDENT says; the direction is the
// same expression in both, and so the same bits.

SWARM_CLONES void directions(const Rates& rates, const float* __restrict from,
                             const float* __restrict first_moment,
                             const float* __restrict second_moment,
                             const float* __restrict gradient, float* __restrict direction,
                             size_t n) {
  const Rates r = rates;
  for (size_t i = 0; i < n; ++i) {
    float g = gradient[i] * r.gradient_scale;
    float m = r.beta1 * first_moment[i] + r.rest1 * g;
    float v = r.beta2 * second_moment[i] + r.rest2 * (g * g);
    float adam = m * r.correction1 / (std::sqrt(v * r.correction2) + r.epsilon);
    direction[i] = adam + r.weight_decay * from[i];
  }
}

// `to` may be `from`.
SWARM_CLONES void update(const Rates& rates, float factor, const float* from, float* to,
                         float* __restrict first_moment, float* __restrict second_moment,
                         const float* __restrict gradient, size_t n) {
  const Rates r = rates;
  const float rate = r.learning_rate * factor;
  SWARM_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    float g = gradient[i] * r.gradient_scale;
    float m = r.beta1 * first_moment[i] + r.rest1 * g;
    float v = r.beta2 * second_moment[i] + r.rest2 * (g * g);
    first_moment[i] = m;
    second_moment[i] = v;
    float adam = m * r.correction1 / (std::sqrt(v * r.correction2) + r.epsilon);
    to[i] = from[i] - rate * (adam + r.weight_decay * from[i]);
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
    rates_.learning_rate = static_cast<float>(learning_rate);
    rates_.beta1 = static_cast<float>(options_.beta1);
    rates_.beta2 = static_cast<float>(options_.beta2);
    rates_.rest1 = static_cast<float>(1 - options_.beta1);
    rates_.rest2 = static_cast<float>(1 - options_.beta2);
    rates_.epsilon = static_cast<float>(options_.epsilon);
    rates_.gradient_scale = static_cast<float>(gradient_scale);
    rates_.correction1 = static_cast<float>(1 / (1 - std::pow(options_.beta1, t)));
    rates_.correction2 = static_cast<float>(1 / (1 - std::pow(options_.beta2, t)));
  }
  Rates rates(float weight_decay) const {
    Rates rates = rates_;
    rates.weight_decay = weight_decay;
    return rates;
  }
  void run(float weight_decay, float factor, const float* gradient, const float* from, float* to,
           float* const* moments, size_t n) const override {
    update(rates(weight_decay), factor, from, to, moments[0], moments[1], gradient, n);
  }
  void measure(float weight_decay, const float* gradient, const float* from,
               const float* const* moments, float* direction, size_t n) const override {
    directions(rates(weight_decay), from, moments[0], moments[1], gradient, direction, n);
  }

  Rates rates_;
};

std::unique_ptr<Optimizer> make(const OptimizerOptions& options,
                                const std::vector<ParameterInfo>& layout, ParallelFor parallel) {
  return std::make_unique<Lamb>(options, layout, std::move(parallel));
}

}  // namespace

const OptimizerInfo& lamb_info() {
  static const OptimizerInfo row = {"lamb",
                                    {{"first_moments", false}, {"second_moments", true}},
                                    /*has_momentum_product=*/false,
                                    /*layer_wise=*/true,
                                    make};
  return row;
}

}  // namespace swarm::tensor
