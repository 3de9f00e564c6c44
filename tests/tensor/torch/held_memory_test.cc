#include <algorithm>
#include <cmath>

#include "tensor/torch/model_stage.h"
#include "tests/tensor/torch/stage_fixture.h"

namespace swarm::tensor {

BOOST_AUTO_TEST_SUITE(HeldMemories)

BOOST_AUTO_TEST_CASE(a_bit_that_turns_shows_in_the_checksum_of_its_part) {
  auto stage = open_stage(stage_options(0, 1));
  require_ok(stage);
  const MicrobatchKey key{Step(0), Slot(0), Attempt(0)};
  StageMemory& memory = (*stage)->memory();
  const uint64_t empty = memory.sum_checksum();
  require_ok((*stage)->forward_backward(key, some_input(), /*accumulate=*/true, false));
  const uint64_t sum = memory.sum_checksum(), state = (*stage)->state_checksum();
  BOOST_TEST(sum != empty);
  for (const StatePart part : {StatePart::kParameters, StatePart::kMoments}) {
    memory.flip_bit(part);
    BOOST_TEST((*stage)->state_checksum() != state);
    memory.flip_bit(part);
    BOOST_TEST((*stage)->state_checksum() == state);
    BOOST_TEST(memory.sum_checksum() == sum);
  }
  memory.flip_bit(StatePart::kGradientSum);
  BOOST_TEST(memory.sum_checksum() != sum);
  BOOST_TEST((*stage)->state_checksum() == state);
  memory.flip_bit(StatePart::kContribution);
  BOOST_TEST((*stage)->state_checksum() == state);
  const auto values = floats((*stage)->gradient_sum());
  BOOST_TEST(std::count_if(values.begin(), values.end(), [](float v) { return std::isnan(v); }) ==
             1);
  (*stage)->clear_gradients();
  BOOST_TEST(memory.sum_checksum() == empty);
}

BOOST_AUTO_TEST_CASE(a_bit_of_a_moment_shows_where_moments_are_averaged) {
  auto stage = open_stage(stage_options(0, 1));
  require_ok(stage);
  const auto checksum = [&](AveragedPart part) { return (*stage)->averaged_checksum(part); };
  const uint64_t weights = checksum(AveragedPart::kWeights);
  const uint64_t both = checksum(AveragedPart::kWeightsAndMoments);
  BOOST_TEST(weights == (*stage)->checksum());
  (*stage)->memory().flip_bit(StatePart::kMoments);
  BOOST_TEST(checksum(AveragedPart::kWeights) == weights);
  BOOST_TEST(checksum(AveragedPart::kWeightsAndMoments) != both);
  (*stage)->memory().flip_bit(StatePart::kMoments);
  (*stage)->memory().flip_bit(StatePart::kParameters);
  BOOST_TEST(checksum(AveragedPart::kWeights) != weights);
  BOOST_TEST(checksum(AveragedPart::kWeightsAndMoments) != both);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
