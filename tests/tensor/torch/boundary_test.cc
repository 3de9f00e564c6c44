/// Boundaries that are narrower than the model: stages of it against the same model in one piece,
/// written with LibTorch's modules.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "tensor/core/architecture.h"
#include "tensor/core/memory_options.h"
#include "tests/tensor/torch/whole_model.h"

namespace swarm::tensor {
namespace {

constexpr Boundary kKinds[] = {Boundary::kBottleneck, Boundary::kMaxout};

StageOptions narrow(Boundary boundary, int32_t factor, const std::vector<int32_t>& split) {
  StageOptions options = stage_options(0, static_cast<int32_t>(split.size()));
  options.model.boundary = boundary;
  options.model.boundary_factor = factor;
  options.model.layers_per_stage = split;
  return options;
}

ReferenceGradient reference_of(const ModelOptions& model) {
  auto reference = reference_gradient(model, some_tokens(), kSamples, kSequence);
  require_ok(reference);
  return *reference;
}

// As in model_stage_test.cc: sums of up to 768 products in another order, through 8 layers. Norms of 4
// numbers amplify what is rounded a little.
constexpr double kTolerance = 5e-5;

}  // namespace

BOOST_AUTO_TEST_SUITE(Boundaries)

BOOST_AUTO_TEST_CASE(loss_and_all_gradients_equal_the_reference_with_the_same_boundaries) {
  const std::vector<std::vector<int32_t>> splits = {{8}, {4, 4}, {2, 2, 2, 2}, {1, 6, 1}};
  for (Boundary boundary : kKinds)
    for (int32_t factor : {2, 4})
      for (const auto& split : splits)
        for (BackwardPolicy policy : {BackwardPolicy::kKeep, BackwardPolicy::kRecompute}) {
          StageOptions options = narrow(boundary, factor, split);
          options.backward = policy;
          const ReferenceGradient reference = reference_of(options.model);
          Stages stages = pipeline(options);
          const double loss = pass(stages, {});
          BOOST_TEST(loss == reference.loss_sum, boost::test_tools::tolerance(1e-5));
          BOOST_TEST(distance(reference.gradients, gradients(stages)) < kTolerance);
          for (const auto& [name, gradient] : reference.gradients) {
            double largest = 0;
            for (float g : gradient) largest = std::max(largest, std::abs(double{g}));
            BOOST_TEST(largest > 1e-7, name);
          }
        }
}

BOOST_AUTO_TEST_CASE(a_reference_with_other_boundaries_is_told_apart) {
  const StageOptions options = narrow(Boundary::kBottleneck, 2, {4, 4});
  Stages stages = pipeline(options);
  const double loss = pass(stages, {});
  auto away = [&](const StageOptions& other) {
    return std::abs(loss - reference_of(other.model).loss_sum);
  };
  // Untrained blocks change little: one more in front of the boundary is 5e-3.
  BOOST_TEST(away(options) < 1e-4);
  BOOST_TEST(away(narrow(Boundary::kBottleneck, 2, {5, 3})) > 1e-3);
  BOOST_TEST(away(narrow(Boundary::kBottleneck, 4, {4, 4})) > 1e-3);
  BOOST_TEST(away(narrow(Boundary::kMaxout, 2, {4, 4})) > 1e-3);
  BOOST_TEST(away(narrow(Boundary::kNone, 2, {4, 4})) > 1e-3);
}

BOOST_AUTO_TEST_CASE(what_travels_is_narrower_by_the_factor_both_ways) {
  for (Boundary boundary : kKinds)
    for (int32_t factor : {2, 4}) {
      const StageOptions options = narrow(boundary, factor, {3, 3, 2});
      Stages stages = pipeline(options);
      const uint64_t bytes =
          kSamples * boundary_bytes_per_sample(options.model, Codec::kNone, Codec::kNone);
      BOOST_TEST(bytes == kSamples * kSequence * 16 * 4 / static_cast<uint64_t>(factor));
      StageInput input = some_input();
      for (size_t i = 0; i < 2; ++i) {
        auto output = stages[i]->forward({}, input, false);
        require_ok(output);
        BOOST_TEST(output->data.size() == bytes);
        BOOST_TEST(output->meta.shape(2) == 16 / factor);
        input.activations = *output;
      }
      auto loss = stages[2]->forward_backward({}, input, true, false);
      require_ok(loss);
      BOOST_TEST(loss->gradient.data.size() == bytes);
      auto before = stages[1]->backward({}, loss->gradient, true);
      require_ok(before);
      BOOST_TEST(before->data.size() == bytes);
      BOOST_TEST(before->meta.shape(2) == 16 / factor);
      require_ok(stages[0]->backward({}, *before, true));
    }
}

BOOST_AUTO_TEST_CASE(activations_and_gradients_of_the_models_width_are_refused) {
  Stages wide = pipeline(narrow(Boundary::kNone, 2, {4, 4}));
  Stages stages = pipeline(narrow(Boundary::kMaxout, 2, {4, 4}));
  StageInput input = some_input();
  auto activations = wide[0]->forward({}, input, false);
  require_ok(activations);
  input.activations = *activations;
  BOOST_TEST(
      (stages[1]->forward_backward({}, input, true, false).code() == ErrorCode::kShapeMismatch));
  require_ok(stages[0]->forward({}, some_input(), false));
  BOOST_TEST((stages[0]->backward({}, *activations, true).code() == ErrorCode::kShapeMismatch));
}

BOOST_AUTO_TEST_CASE(the_blocks_begin_as_those_of_the_model_without_boundaries) {
  const auto plain = by_name(pipeline(stage_options(0, 3)), &ModelStage::parameters);
  for (Boundary boundary : kKinds) {
    const StageOptions options = narrow(boundary, 4, {3, 3, 2});
    const auto own = by_name(pipeline(options), &ModelStage::parameters);
    for (const auto& [name, values] : plain) BOOST_TEST((own.at(name) == values), name);
    const size_t each = boundary == Boundary::kBottleneck ? 8 : 6;
    BOOST_TEST(own.size() == plain.size() + 2 * each);
    BOOST_TEST(own.count("boundaries.1.expand.weight") == 1u);
    BOOST_TEST((own.at("boundaries.0.expand.weight") != own.at("boundaries.1.expand.weight")));
    BOOST_TEST(layout_size(model_layout(options.model)) ==
               stage_parameters(options.model, 0, 3) + stage_parameters(options.model, 1, 3) +
                   stage_parameters(options.model, 2, 3));
  }
}

BOOST_AUTO_TEST_CASE(training_in_stages_equals_the_one_process_trainer) {
  for (Boundary boundary : kKinds) {
    StageOptions options = narrow(boundary, 2, {3, 3, 2});
    options.model.repeats = 2;
    options.backward = BackwardPolicy::kRecompute;
    options.optimizer.learning_rate = 0.01;
    options.optimizer.clip_norm = 0;
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
    for (uint64_t step = 0; step < 8; ++step) {
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
    }
    BOOST_TEST(last < first - 0.1);
    const auto trained = by_name(stages, &ModelStage::parameters);
    BOOST_TEST(distance((*trainer)->state().parameters, trained) < 1e-3);
  }
}

BOOST_AUTO_TEST_CASE(codecs_and_bf16_stay_close) {
  for (Boundary boundary : kKinds) {
    const ReferenceGradient reference = reference_of(narrow(boundary, 2, {3, 3, 2}).model);
    for (ComputeType compute : {ComputeType::kFp32, ComputeType::kBf16}) {
      StageOptions options = narrow(boundary, 2, {3, 3, 2});
      options.activation_codec = Codec::kInt8;
      options.gradient_codec = Codec::kBf16;
      options.compute = compute;
      Stages stages = pipeline(options);
      const double loss = pass(stages, {});
      BOOST_TEST(loss == reference.loss_sum, boost::test_tools::tolerance(2e-2));
      // Where two numbers are almost equal the other one becomes the largest: some elements differ much.
      double away = 0, size = 0;
      const NamedValues own = gradients(stages);
      for (const auto& [name, x] : reference.gradients)
        for (size_t i = 0; i < x.size(); ++i) {
          away += std::pow(double{x[i]} - own.at(name)[i], 2);
          size += std::pow(double{x[i]}, 2);
        }
      BOOST_TEST(std::sqrt(away / size) < 0.3);
    }
  }
}

BOOST_AUTO_TEST_CASE(text_is_generated_through_boundaries) {
  for (Boundary boundary : kKinds) {
    const StageOptions options = narrow(boundary, 4, {2, 3, 3});
    Stages stages = pipeline(options);
    std::vector<Buffer> states;
    for (auto& stage : stages) states.push_back(stage->save_state());
    auto loaded = load_stages(options.model, states);
    require_ok(loaded);
    SampleOptions sample;
    sample.count = 20;
    auto text = sample_text(*loaded, kSequence, sample);
    require_ok(text);
    BOOST_TEST(text->size() == 20u);
    StageInput input = some_input();  // and the last logits are those that the loss is made of
    for (size_t i = 0; i < 2; ++i) {
      auto output = stages[i]->forward({}, input, true);
      require_ok(output);
      input.activations = *output;
    }
    auto logits = stages[2]->next_logits(input);
    require_ok(logits);
    BOOST_TEST(logits->size() == kSamples * 256 * sizeof(float));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
