#include "tensor/core/memory_options.h"

#include <boost/test/unit_test.hpp>

#include "tensor/core/block_sizes.h"

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
  BOOST_TEST(kept(0, BackwardPolicy::kRecompute) == 0u);
  BOOST_TEST(kept(2, BackwardPolicy::kRecompute) == 0u);
}

// Of 5 blocks applied 3 times, 14 inputs; the first one came from outside.
BOOST_AUTO_TEST_CASE(with_recompute_the_inputs_of_blocks_are_kept_and_one_graph_is_made_at_a_time) {
  ModelOptions model;
  model.layers_per_stage = {1, 5, 2};
  model.repeats = 3;
  const auto input = static_cast<uint64_t>(model.sequence) * static_cast<uint64_t>(model.width) * 4;
  const auto again = BackwardPolicy::kRecompute;
  BOOST_TEST(kept_bytes_per_sample(model, 1, 3, again) == 14 * input);
  BOOST_TEST(kept_bytes_per_sample(model, 0, 3, again) == 2 * input);
  BOOST_TEST(kept_bytes_per_sample(model, 2, 3, again) == 0u);
  const uint64_t keep = backward_bytes_per_sample(model, 1, 3, BackwardPolicy::kKeep);
  BOOST_TEST(keep == graph_bytes_per_sample(model, 5));
  BOOST_TEST(backward_bytes_per_sample(model, 1, 3, again) == keep / 15);
  BOOST_TEST(backward_bytes_per_sample(model, 2, 3, again) == keep / 15 + 5 * input);
}

BOOST_AUTO_TEST_CASE(neither_attention_nor_logits_grow_beyond_a_block) {
  ModelOptions model;
  const auto a_token = [&] {
    return graph_bytes_per_sample(model, 1) / static_cast<uint64_t>(model.sequence);
  };
  model.sequence = kWholeAttention;
  const uint64_t whole = a_token();
  model.sequence = 2 * kWholeAttention;
  const uint64_t blocks = a_token();
  BOOST_TEST(whole == blocks + static_cast<uint64_t>(model.heads) * kWholeAttention * 4);
  model.sequence = 64 * kWholeAttention;
  BOOST_TEST(a_token() == blocks);
  BOOST_TEST(loss_bytes(model, 1000) == 3 * kLogitsOfBlock);
  model.sequence = 16;
  BOOST_TEST(loss_bytes(model, 2) == 3 * 2 * 16 * 256 * 4u);
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
