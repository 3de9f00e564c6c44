/// LAMB against LibTorch: the flat update against the paper's formulas in operations on whole tensors
/// in double, and a swarm's stages against the one-process trainer.
#include <torch/torch.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "tensor/core/architecture.h"
#include "tensor/core/optimizer.h"
#include "tensor/reference/reference_optimizer.h"
#include "tests/tensor/torch/whole_model.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;

OptimizerOptions lamb() {
  OptimizerOptions o;
  o.kind = OptimizerKind::kLamb;
  o.learning_rate = 5e-3;
  o.beta2 = 0.999;
  o.epsilon = 1e-6;
  o.warmup_steps = 10;
  o.total_steps = 100;
  o.schedule = Schedule::kLinear;
  o.clip_norm = 0;
  return o;
}

/// You et al. 2020, Algorithm 2, of one parameter, with phi(z) = z.
struct Exact {
  Tensor w, m, v;
  bool matrix = false;
  int t = 0;

  Exact(const Tensor& start, bool is_matrix)
      : w(start.to(torch::kFloat64)),
        m(torch::zeros_like(w)),
        v(torch::zeros_like(w)),
        matrix(is_matrix) {}

  void step(const OptimizerOptions& o, double rate, const Tensor& gradient) {
    const Tensor g = gradient.to(torch::kFloat64);
    ++t;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const Tensor m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    Tensor u = m_hat / (torch::sqrt(v_hat) + o.epsilon);
    if (matrix) {
      u = u + o.weight_decay * w;
      u = u * (torch::linalg_vector_norm(w) / torch::linalg_vector_norm(u));
    }
    w = w - rate * u;
  }
};

std::vector<ParameterInfo> layout() {
  LayoutBuilder builder;
  builder.matrix("a", 64, 80, 0.02f);
  builder.vector("a.bias", 64, 0);
  builder.matrix("b", 90, 64, 0.5f);
  builder.matrix("c", 3, 5, 0.1f);
  builder.vector("norm", 64, 1);
  return builder.take();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(LambTest)

BOOST_AUTO_TEST_CASE(the_flat_update_and_the_reference_follow_the_paper_in_double) {
  torch::NoGradGuard guard;
  torch::manual_seed(4);
  const OptimizerOptions o = lamb();
  const auto parameters = layout();
  const auto n = static_cast<int64_t>(layout_size(parameters));
  Tensor flat = torch::empty({n});
  std::vector<Exact> exact;
  std::vector<Tensor> matrices, vectors, own;
  for (const auto& info : parameters) {
    initial_values(9, info, flat.data_ptr<float>() + info.offset);
    const Tensor part = flat.narrow(0, int64_t(info.offset), int64_t(info.size));
    exact.emplace_back(part.clone(), info.decayed);
    own.push_back(part.clone().view(info.shape));
    (info.decayed ? matrices : vectors).push_back(own.back());
  }
  auto optimizer = make_optimizer(o, parameters);
  auto reference = make_reference_optimizer(o, matrices, vectors);
  for (uint64_t t = 0; t < 200; ++t) {
    const Tensor gradient = torch::randn({n}) * std::pow(10.0, double(t % 5) - 3);
    const double rate = learning_rate(o, int64_t(t));
    optimizer->step(gradient.data_ptr<float>(), t, 1, flat.data_ptr<float>(),
                    flat.data_ptr<float>());
    for (size_t i = 0; i < parameters.size(); ++i) {
      const auto& info = parameters[i];
      const Tensor part = gradient.narrow(0, int64_t(info.offset), int64_t(info.size));
      exact[i].step(o, rate, part);
      own[i].mutable_grad() = part.view(info.shape);
    }
    reference->step(rate);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& info = parameters[i];
    const Tensor right = exact[i].w;
    const double size = right.norm().item<double>();
    const Tensor part = flat.narrow(0, int64_t(info.offset), int64_t(info.size));
    // Values rounded by 6e-8 of themselves 200 times; an update is 5e-3 of a matrix, so that a
    // factor left out or wrong by 1 % shows as 1e-2.
    BOOST_TEST((part - right).norm().item<double>() < 3e-6 * size);
    BOOST_TEST((own[i].flatten() - right).norm().item<double>() < 3e-6 * size);
    const ReferenceMoments moments = reference->moments(own[i]);
    BOOST_TEST(moments.updates == 200u);
    BOOST_TEST((moments.values[0].flatten() - exact[i].m).norm().item<double>() <
               1e-5 * exact[i].m.norm().item<double>());
  }
}

BOOST_AUTO_TEST_CASE(lamb_in_stages_equals_lamb_in_the_one_process_trainer) {
  StageOptions options = stage_options(0, 3);
  options.optimizer = lamb();
  options.optimizer.learning_rate = 0.1;  // of a matrix's norm a step
  options.optimizer.warmup_steps = 2;
  options.optimizer.total_steps = 12;
  options.optimizer.epsilon = 1e-4;  // so that rounding of tiny gradients is not blown up
  Stages stages = pipeline(options);
  SameText data;
  ReferenceOptions reference;
  reference.model = options.model;
  reference.optimizer = options.optimizer;
  reference.batch = reference.microbatch = kSamples;
  auto trainer = ReferenceTrainer::make(reference, data);
  require_ok(trainer);
  double first = 0, last = 0;
  for (uint64_t step = 0; step < 12; ++step) {
    auto run = (*trainer)->train_until(step + 1);
    require_ok(run);
    last = pass(stages, {Step(step), {}, {}}) / kSamples;
    if (step == 0) first = last;
    BOOST_TEST(last == run->losses[0], boost::test_tools::tolerance(1e-4));
    for (auto& stage : stages) {
      std::vector<float> mean = floats(stage->gradient_sum());
      for (float& g : mean) g /= kSamples;
      BOOST_REQUIRE(stage->apply(bytes(mean), 1).ok());
    }
    if (step == 6) {  // a state of the stages is one of the trainer
      std::vector<Buffer> states;
      for (auto& stage : stages) states.push_back(stage->save_state());
      auto saved = reference_state(options.model, states);
      require_ok(saved);
      BOOST_TEST(saved->updates == (*trainer)->state().updates);
      BOOST_REQUIRE((*trainer)->restore(*saved).ok());
    }
  }
  BOOST_TEST(last < first - 0.1);
  const ReferenceState own = (*trainer)->state();
  BOOST_TEST(distance(own.parameters, by_name(stages, &ModelStage::parameters)) < 3e-4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
