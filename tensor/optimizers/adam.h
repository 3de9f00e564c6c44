/// What the optimizers of Adam's family share: two moments, their rates, how one is made. Pure; included by
/// tensor/optimizers/*.cc only.
#pragma once

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/core/optimizer.h"

namespace swarm::tensor {

struct AdamRates {
  float learning_rate = 0;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  float rest1 = 1,
        rest2 = 1;         ///< 1 - beta, each rounded once; AdamW takes them of the rounded betas.
  float weight_decay = 0;  ///< 0 for norms, biases and positions.
  float gradient_scale = 1;  ///< Clipping.
  float correction1 = 1;     ///< 1 / (1 - beta1^t), t the number of this update, from 1.
  float correction2 = 1;     ///< 1 / (1 - beta2^t).
};

inline AdamRates adam_rates(const OptimizerOptions& options, double t, double learning_rate,
                            double gradient_scale) {
  AdamRates rates;
  rates.learning_rate = static_cast<float>(learning_rate);
  rates.beta1 = static_cast<float>(options.beta1);
  rates.beta2 = static_cast<float>(options.beta2);
  rates.rest1 = static_cast<float>(1 - options.beta1);
  rates.rest2 = static_cast<float>(1 - options.beta2);
  rates.epsilon = static_cast<float>(options.epsilon);
  rates.gradient_scale = static_cast<float>(gradient_scale);
  rates.correction1 = static_cast<float>(1 / (1 - std::pow(options.beta1, t)));
  rates.correction2 = static_cast<float>(1 / (1 - std::pow(options.beta2, t)));
  return rates;
}

/// The same of parameters with this weight decay.
template <class Rates>
Rates with_decay(Rates rates, float weight_decay) {
  rates.weight_decay = weight_decay;
  return rates;
}

inline std::vector<MomentInfo> adam_moments() {
  return {{"first_moments", false}, {"second_moments", true}};
}

template <class Kind>
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const std::vector<ParameterInfo>& layout,
                                          ParallelFor parallel) {
  return std::make_unique<Kind>(options, layout, std::move(parallel));
}

}  // namespace swarm::tensor
