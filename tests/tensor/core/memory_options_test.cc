#include "tensor/core/memory_options.h"

#include <boost/test/unit_test.hpp>

using namespace swarm::tensor;

BOOST_AUTO_TEST_SUITE(MemoryOptions)

BOOST_AUTO_TEST_CASE(a_graph_is_kept_with_keep_and_not_by_the_last_stage) {
  ModelOptions model;
  model.layers_per_stage = {1, 5, 2};
  const auto kept = [&](int32_t stage, BackwardPolicy backward) {
    return kept_bytes_per_sample(model, stage, 3, backward);
  };
  BOOST_TEST(kept(0, BackwardPolicy::kKeep) == graph_bytes_per_sample(model, 1));
  BOOST_TEST(kept(1, BackwardPolicy::kKeep) == graph_bytes_per_sample(model, 5));
  BOOST_TEST(kept(2, BackwardPolicy::kKeep) == 0u);
  BOOST_TEST(kept(1, BackwardPolicy::kRecompute) == 0u);
}

BOOST_AUTO_TEST_CASE(a_version_is_kept_as_float32_and_as_what_is_computed_with) {
  const Device cpu, gpu{true, 0};
  BOOST_TEST(version_bytes_per_parameter(ComputeType::kFp32, cpu) == 4u);
  BOOST_TEST(version_bytes_per_parameter(ComputeType::kBf16, cpu) == 6u);
  BOOST_TEST(version_bytes_per_parameter(ComputeType::kFp32, gpu) == 8u);
  BOOST_TEST(version_bytes_per_parameter(ComputeType::kBf16, gpu) == 6u);
}

// What came back took twice what had been booked, where only activations were encoded.
BOOST_AUTO_TEST_CASE(the_larger_of_activations_and_their_gradient_counts) {
  ModelOptions model;
  const uint64_t n = static_cast<uint64_t>(model.sequence) * static_cast<uint64_t>(model.width);
  BOOST_TEST(boundary_bytes_per_sample(model, Codec::kFp16, Codec::kBf16) == 2 * n);
  BOOST_TEST(boundary_bytes_per_sample(model, Codec::kFp16, Codec::kNone) == 4 * n);
  BOOST_TEST(boundary_bytes_per_sample(model, Codec::kNone, Codec::kFp16) == 4 * n);
}

BOOST_AUTO_TEST_CASE(a_narrow_boundary_sends_less_and_keeps_its_own_inputs) {
  ModelOptions model;
  const uint64_t plain = kept_bytes_per_sample(model, 1, 4, BackwardPolicy::kKeep);
  const auto tokens = static_cast<uint64_t>(model.sequence);
  const auto width = static_cast<uint64_t>(model.width);
  model.boundary = Boundary::kMaxout;
  model.boundary_factor = 4;
  BOOST_TEST(boundary_bytes_per_sample(model, Codec::kNone, Codec::kNone) == tokens * width);
  BOOST_TEST(kept_bytes_per_sample(model, 1, 4, BackwardPolicy::kKeep) ==
             plain + tokens * (2 * width + 2 * width / 4) * 4);
  BOOST_TEST(kept_bytes_per_sample(model, 0, 4, BackwardPolicy::kKeep) ==
             plain + tokens * (2 * width + width / 4) * 4);
}

BOOST_AUTO_TEST_CASE(every_repeat_of_a_block_is_kept) {
  ModelOptions model;
  const uint64_t once = kept_bytes_per_sample(model, 1, 4, BackwardPolicy::kKeep);
  model.repeats = 5;
  BOOST_TEST(kept_bytes_per_sample(model, 1, 4, BackwardPolicy::kKeep) == 5 * once);
}

BOOST_AUTO_TEST_CASE(parameters_of_stages_add_up_to_the_models) {
  ModelOptions model;
  uint64_t sum = 0;
  for (int32_t stage = 0; stage < 3; ++stage) sum += stage_parameters(model, stage, 3);
  BOOST_TEST(sum == stage_parameters(model, 0, 1));
}

BOOST_AUTO_TEST_SUITE_END()
