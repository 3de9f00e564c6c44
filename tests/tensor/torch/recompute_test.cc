/// Stages that make one block's graph at a time, sequences beyond one matrix of weights, and the memory
/// that passes take.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "tensor/core/block_sizes.h"
#include "tensor/core/memory_options.h"
#include "tests/tensor/torch/torch_memory.h"
#include "tests/tensor/torch/whole_model.h"

namespace swarm::tensor {
namespace {

StageOptions repeated(BackwardPolicy policy, int32_t repeats, int32_t num_stages) {
  StageOptions options = stage_options(0, num_stages);
  options.backward = policy;
  options.model.layers = 2;
  options.model.repeats = repeats;
  return options;
}

StageInput input_of(uint32_t samples, uint32_t sequence) {
  StageInput input;
  input.samples = samples;
  input.sequence = sequence;
  input.tokens = some_tokens(samples, sequence);
  return input;
}

/// Bytes of LibTorch: kept between forward and backward, and at most in a backward besides what was there.
struct Taken {
  double kept = 0, backward = 0;
};

/// Of the first of two stages, or of the visit at a model of one.
Taken taken(const StageOptions& options, const StageInput& input) {
  Stages stages = pipeline(options);
  for (int warm = 0; warm < 2; ++warm) {
    TorchMemory memory;
    Taken found;
    if (stages.size() == 1) {
      require_ok(stages[0]->forward_backward({}, input, true, false));
      found.backward = static_cast<double>(memory.most());
    } else {
      auto output = stages[0]->forward({}, input, false);
      require_ok(output);
      found.kept = static_cast<double>(memory.grown()) - static_cast<double>(output->data.size());
      memory.reset();
      require_ok(stages[0]->backward({}, *output, true));
      found.backward = static_cast<double>(memory.most());
    }
    if (warm == 1) return found;
  }
  return {};
}

/// 1 block a stage, wide enough that activations are larger than all else.
StageOptions large(BackwardPolicy policy, int32_t repeats, int32_t num_stages) {
  StageOptions options = repeated(policy, repeats, num_stages);
  options.model.layers = num_stages;
  options.model.width = 32;
  options.model.ffn = 128;
  options.model.sequence = 256;
  return options;
}

constexpr uint32_t kLargeSamples = 8;

}  // namespace

BOOST_AUTO_TEST_SUITE(RecomputeTest)

BOOST_AUTO_TEST_CASE(block_by_block_gives_the_gradients_of_one_graph) {
  for (ComputeType compute : {ComputeType::kFp32, ComputeType::kBf16})
    for (int32_t repeats : {1, 3})
      for (int32_t num_stages : {1, 2}) {
        NamedValues found[2];
        double losses[2];
        for (BackwardPolicy policy : {BackwardPolicy::kKeep, BackwardPolicy::kRecompute}) {
          StageOptions options = repeated(policy, repeats, num_stages);
          options.compute = compute;
          Stages stages = pipeline(options);
          const auto i = static_cast<size_t>(policy);
          losses[i] = pass(stages, {});
          found[i] = gradients(stages);
        }
        BOOST_TEST(losses[0] == losses[1]);
        // The same operations; the sum over repeats is taken in float32 here, in bf16 there.
        const bool rounded = compute == ComputeType::kBf16 && repeats > 1;
        BOOST_TEST(distance(found[0], found[1]) < (rounded ? 2e-2 : 1e-6));
      }
}

BOOST_AUTO_TEST_CASE(gradients_are_added_only_if_asked_and_only_if_finite) {
  Stages stages = pipeline(repeated(BackwardPolicy::kRecompute, 3, 2));
  pass(stages, {}, /*accumulate=*/false);
  for (auto& stage : stages)
    for (float g : floats(stage->gradient_sum())) BOOST_REQUIRE(g == 0);
  auto output = stages[0]->forward({}, some_input(), false);
  require_ok(output);
  std::vector<float> bad = floats(output->data);
  bad[3] = NAN;
  EncodedTensor gradient = *output;
  gradient.data = bytes(bad);
  BOOST_TEST((stages[0]->backward({}, gradient, true).code() == ErrorCode::kNonFinite));
  for (float g : floats(stages[0]->gradient_sum())) BOOST_REQUIRE(g == 0);
}

// Of tokens beyond the longest sequence that has one matrix of weights a head, in stages and not.
BOOST_AUTO_TEST_CASE(a_long_sequence_equals_the_reference) {
  ModelOptions model = tiny_model();
  model.layers = 2;
  model.sequence = static_cast<int32_t>(kWholeAttention) + 45;
  const auto sequence = static_cast<uint32_t>(model.sequence);
  auto reference = reference_gradient(model, some_tokens(2, sequence), 2, sequence);
  require_ok(reference);
  for (int32_t num_stages : {1, 2})
    for (BackwardPolicy policy : {BackwardPolicy::kKeep, BackwardPolicy::kRecompute}) {
      StageOptions options = stage_options(0, num_stages);
      options.model = model;
      options.backward = policy;
      Stages stages = pipeline(options);
      const double loss = pass(stages, {}, true, input_of(2, sequence));
      BOOST_TEST(loss == reference->loss_sum, boost::test_tools::tolerance(1e-5));
      BOOST_TEST(distance(reference->gradients, gradients(stages)) < 2e-5);
    }
}

// 33,001 tokens to choose from: logits in blocks of 254, of 2 x 150.
BOOST_AUTO_TEST_CASE(a_large_vocabulary_equals_the_reference) {
  ModelOptions model = tiny_model();
  model.layers = 1;
  model.vocabulary = 33'001;
  model.sequence = 150;
  auto reference = reference_gradient(model, some_tokens(2, 150), 2, 150);
  require_ok(reference);
  StageOptions options = stage_options(0, 1);
  options.model = model;
  Stages stages = pipeline(options);
  BOOST_TEST(pass(stages, {}, true, input_of(2, 150)) == reference->loss_sum,
             boost::test_tools::tolerance(1e-5));
  BOOST_TEST(distance(reference->gradients, gradients(stages)) < 2e-5);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_what_the_options_say) {
  if (test_device() != "cpu") return;  // it is the memory of the CPU that is counted
  const StageInput input = input_of(kLargeSamples, 256);
  for (int32_t repeats : {1, 6})
    for (BackwardPolicy policy : {BackwardPolicy::kKeep, BackwardPolicy::kRecompute}) {
      const StageOptions options = large(policy, repeats, 2);
      const auto told =
          static_cast<double>(kLargeSamples * kept_bytes_per_sample(options.model, 0, 2, policy));
      const double found = taken(options, input).kept;
      BOOST_TEST_CONTEXT(repeats << " repeats, kept " << found << ", told " << told) {
        BOOST_TEST(found >= 0.8 * told);
        BOOST_TEST(found <= 1.3 * told + 1e5);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_backward_has_one_blocks_graph_however_often_it_is_applied) {
  if (test_device() != "cpu") return;
  const StageInput input = input_of(kLargeSamples, 256);
  for (int32_t num_stages : {1, 2}) {
    const auto at_most = [&](BackwardPolicy policy, int32_t repeats) {
      return taken(large(policy, repeats, num_stages), input).backward;
    };
    const double once = at_most(BackwardPolicy::kRecompute, 1);
    const double often = at_most(BackwardPolicy::kRecompute, 8);
    const double inputs = num_stages > 1 ? 0 : 7.0 * kLargeSamples * 256 * 32 * sizeof(float);
    BOOST_TEST(often < 1.3 * once + inputs);
    if (num_stages == 1) BOOST_TEST(at_most(BackwardPolicy::kKeep, 8) > 3 * often);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
