#include "tensor/reference/reference_optimizer.h"

#include <torch/torch.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "common/check.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;

class ReferenceAdamw final : public ReferenceOptimizer {
 public:
  ReferenceAdamw(const OptimizerOptions& o, const std::vector<Tensor>& decayed,
                 const std::vector<Tensor>& plain)
      : optimizer_(groups(o, decayed, plain), torch::optim::AdamWOptions(o.learning_rate)) {}

  void step(double learning_rate) override {
    for (auto& group : optimizer_.param_groups()) {
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(learning_rate);
    }
    optimizer_.step();
  }

  ReferenceMoments moments(const Tensor& parameter) const override {
    ReferenceMoments out;
    const auto found = optimizer_.state().find(key(parameter));
    if (found == optimizer_.state().end()) {
      out.values.assign(2, torch::zeros(parameter.sizes()));
      return out;
    }
    const auto& state = static_cast<const torch::optim::AdamWParamState&>(*found->second);
    out.updates = static_cast<uint64_t>(state.step());
    out.values = {state.exp_avg(), state.exp_avg_sq()};
    return out;
  }

  void set_moments(const Tensor& parameter, const ReferenceMoments& moments) override {
    auto state = std::make_unique<torch::optim::AdamWParamState>();
    state->step(static_cast<int64_t>(moments.updates));
    state->exp_avg(moments.values[0].clone());
    state->exp_avg_sq(moments.values[1].clone());
    optimizer_.state()[key(parameter)] = std::move(state);
  }

 private:
  using States = std::decay_t<decltype(std::declval<torch::optim::AdamW&>().state())>;
  static States::key_type key(const Tensor& parameter) {
    return key_of<States::key_type>(parameter.unsafeGetTensorImpl());
  }
  /// LibTorch 1 knows a parameter by its address as text, LibTorch 2 by the address.
  template <class Key>
  static Key key_of(at::TensorImpl* address) {
    if constexpr (std::is_same_v<Key, std::string>) {
      std::ostringstream text;
      text << address;
      return text.str();
    } else {
      return address;
    }
  }
  static std::vector<torch::optim::OptimizerParamGroup> groups(const OptimizerOptions& o,
                                                               const std::vector<Tensor>& decayed,
                                                               const std::vector<Tensor>& plain) {
    auto options = [&](double decay) {
      return std::make_unique<torch::optim::AdamWOptions>(
          torch::optim::AdamWOptions(o.learning_rate)
              .betas({o.beta1, o.beta2})
              .eps(o.epsilon)
              .weight_decay(decay));
    };
    std::vector<torch::optim::OptimizerParamGroup> out;
    out.emplace_back(decayed, options(o.weight_decay));
    out.emplace_back(plain, options(0));
    return out;
  }

  torch::optim::AdamW optimizer_;
};

/// What LibTorch has not: an optimizer of two moments, in operations on whole tensors.
class InOperations : public ReferenceOptimizer {
 public:
  InOperations(const OptimizerOptions& options, const std::vector<Tensor>& decayed,
               const std::vector<Tensor>& plain)
      : options_(options) {
    for (const Tensor& parameter : decayed) add(parameter, true);
    for (const Tensor& parameter : plain) add(parameter, false);
  }

  void step(double learning_rate) override {
    torch::NoGradGuard guard;
    for (auto& [key, item] : items_) {
      if (item.parameter.grad().defined()) step_one(learning_rate, item);
    }
  }
  ReferenceMoments moments(const Tensor& parameter) const override {
    return items_.at(parameter.unsafeGetTensorImpl()).moments;
  }
  void set_moments(const Tensor& parameter, const ReferenceMoments& moments) override {
    ReferenceMoments& own = items_.at(parameter.unsafeGetTensorImpl()).moments;
    own = moments;
    for (Tensor& value : own.values) value = value.clone();
  }

 protected:
  struct Item {
    Tensor parameter;
    bool decayed = false;
    double decay = 0;
    ReferenceMoments moments;
  };
  virtual void step_one(double rate, Item& item) const = 0;

  /// The means of gradients and of their squares, as Adam has them.
  void average(ReferenceMoments& moments, const Tensor& gradient) const {
    Tensor &first = moments.values[0], &second = moments.values[1];
    first = first * options_.beta1 + gradient * (1 - options_.beta1);
    second = second * options_.beta2 + gradient.square() * (1 - options_.beta2);
  }
  Tensor denominator(const ReferenceMoments& moments) const {
    const double bias = 1 - std::pow(options_.beta2, static_cast<double>(moments.updates));
    return (moments.values[1] / bias).sqrt() + options_.epsilon;
  }

  const OptimizerOptions options_;

 private:
  void add(const Tensor& parameter, bool decayed) {
    Item item{parameter, decayed, decayed ? options_.weight_decay : 0, {}};
    for (int i = 0; i < 2; ++i) item.moments.values.push_back(torch::zeros(parameter.sizes()));
    items_.emplace(parameter.unsafeGetTensorImpl(), std::move(item));
  }

  std::map<const void*, Item> items_;
};

class ReferenceNag final : public InOperations {
 public:
  using InOperations::InOperations;

 private:
  double mu(uint64_t t) const {
    const double exponent = static_cast<double>(t) * options_.momentum_decay;
    return options_.beta1 * (1 - 0.5 * std::pow(0.96, exponent));
  }

  void step_one(double rate, Item& item) const override {
    ReferenceMoments& s = item.moments;
    const Tensor gradient = item.parameter.grad();
    const uint64_t t = ++s.updates;
    s.momentum_product *= mu(t);
    average(s, gradient);
    const Tensor size = denominator(s);
    const double discount = (1 - mu(t)) / (1 - s.momentum_product);
    const double ahead = mu(t + 1) / (1 - s.momentum_product * mu(t + 1));
    item.parameter.mul_(1 - rate * item.decay);
    item.parameter.sub_(gradient / size * (rate * discount));
    item.parameter.sub_(s.values[0] / size * (rate * ahead));
  }
};

class ReferenceLamb final : public InOperations {
 public:
  using InOperations::InOperations;

 private:
  void step_one(double rate, Item& item) const override {
    ReferenceMoments& s = item.moments;
    ++s.updates;
    average(s, item.parameter.grad());
    const double bias = 1 - std::pow(options_.beta1, static_cast<double>(s.updates));
    const Tensor update = s.values[0] / bias / denominator(s) + item.parameter * item.decay;
    const double value_norm = item.parameter.to(torch::kFloat64).norm().item<double>();
    const double update_norm = update.to(torch::kFloat64).norm().item<double>();
    const bool scaled = item.decayed && value_norm > 0 && update_norm > 0;
    item.parameter.sub_(update * (rate * (scaled ? value_norm / update_norm : 1)));
  }
};

template <class T>
std::unique_ptr<ReferenceOptimizer> make(const OptimizerOptions& options,
                                         const std::vector<Tensor>& decayed,
                                         const std::vector<Tensor>& plain) {
  return std::make_unique<T>(options, decayed, plain);
}

}  // namespace

std::unique_ptr<ReferenceOptimizer> make_reference_optimizer(const OptimizerOptions& options,
                                                             const std::vector<Tensor>& decayed,
                                                             const std::vector<Tensor>& plain) {
  // By OptimizerKind, in the order of tensor/optimizers.cc.
  static constexpr decltype(&make<ReferenceAdamw>) kRows[] = {
      make<ReferenceAdamw>,
      make<ReferenceNag>,
      make<ReferenceLamb>,
  };
  const auto row = static_cast<size_t>(options.kind);
  SWARM_CHECK(row < std::size(kRows));
  return kRows[row](options, decayed, plain);
}

}  // namespace swarm::tensor
