/// Blocks that are applied several times with the same parameters.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/core/architecture.h"
#include "tests/tensor/torch/whole_model.h"

namespace swarm::tensor {
namespace {

ModelOptions shared_model(int32_t layers, int32_t repeats) {
  ModelOptions model = tiny_model();
  model.layers = layers;
  model.repeats = repeats;
  return model;
}

StageOptions options_of(const ModelOptions& model, int32_t num_stages) {
  StageOptions options = stage_options(0, num_stages);
  options.model = model;
  return options;
}

// As in model_stage_test.cc.
constexpr double kTolerance = 2e-5;

}  // namespace

BOOST_AUTO_TEST_SUITE(Repeats)

BOOST_AUTO_TEST_CASE(loss_and_all_gradients_equal_the_reference_for_every_split) {
  for (int32_t repeats : {2, 5}) {
    const ModelOptions model = shared_model(4, repeats);
    auto reference = reference_gradient(model, some_tokens(), kSamples, kSequence);
    require_ok(reference);
    for (int32_t num_stages : {1, 2, 4})
      for (BackwardPolicy policy : {BackwardPolicy::kKeep, BackwardPolicy::kRecompute}) {
        StageOptions options = options_of(model, num_stages);
        options.backward = policy;
        Stages stages = pipeline(options);
        const double loss = pass(stages, {});
        BOOST_TEST(loss == reference->loss_sum, boost::test_tools::tolerance(1e-5));
        BOOST_TEST(distance(reference->gradients, gradients(stages)) < kTolerance);
      }
  }
}

// The same numbers in blocks of their own: 2 blocks applied 3 times against 6 blocks.
BOOST_AUTO_TEST_CASE(the_gradient_of_a_shared_block_is_the_sum_over_its_repeats) {
  const ModelOptions model = shared_model(2, 3);
  auto unshared_name = [](const std::string& name, int repeat) {
    const std::string prefix = "layers.";
    if (name.compare(0, prefix.size(), prefix) != 0) return name;
    const int block = name[prefix.size()] - '0';
    return prefix + std::to_string(3 * block + repeat) + name.substr(prefix.size() + 1);
  };
  ReferenceOptions unshared;
  unshared.model = shared_model(6, 1);
  unshared.batch = unshared.microbatch = kSamples;
  unshared.optimizer.beta1 = 0;  // the first moment of the first update is the gradient
  unshared.optimizer.clip_norm = 0;
  SameText data;
  auto trainer = ReferenceTrainer::make(unshared, data);
  require_ok(trainer);
  Stages stages = pipeline(options_of(model, 2));
  ReferenceState state = (*trainer)->state();
  for (const auto& [name, values] : by_name(stages, &ModelStage::parameters))
    for (int repeat = 0; repeat < 3; ++repeat)
      state.parameters.at(unshared_name(name, repeat)) = values;
  BOOST_REQUIRE((*trainer)->restore(state).ok());
  auto run = (*trainer)->train_until(1);
  require_ok(run);
  BOOST_TEST(pass(stages, {}) / kSamples == run->losses[0], boost::test_tools::tolerance(1e-5));
  const NamedValues apart = (*trainer)->state().moments[0];
  NamedValues sums, own = gradients(stages);
  for (auto& [name, gradient] : own) {
    for (float& g : gradient) g /= kSamples;
    std::vector<double> sum(gradient.size());
    const int repeats = name.compare(0, 7, "layers.") == 0 ? 3 : 1;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const auto& part = apart.at(unshared_name(name, repeat));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{part[i]};
    }
    sums[name].assign(sum.begin(), sum.end());
  }
  BOOST_TEST(distance(sums, own) < kTolerance);
}

BOOST_AUTO_TEST_CASE(repeats_add_no_parameters_but_begin_smaller) {
  const auto once = model_layout(shared_model(4, 1)), shared = model_layout(shared_model(4, 16));
  BOOST_REQUIRE(once.size() == shared.size());
  BOOST_TEST(layout_size(once) == layout_size(shared));
  for (size_t i = 0; i < once.size(); ++i) {
    // What is added to the residual stream 16 times as often begins a quarter as large.
    const bool residual = once[i].name.find("attention.out.weight") != std::string::npos ||
                          once[i].name.find("mlp.down.weight") != std::string::npos;
    BOOST_TEST(shared[i].deviation == once[i].deviation / (residual ? 4 : 1),
               boost::test_tools::tolerance(1e-6f));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
