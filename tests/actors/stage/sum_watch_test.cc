#include "actors/stage/sum_watch.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "apps/sim/arithmetic_stage.h"

using namespace swarm;
using actors::SumWatch;
using tensor::StatePart;

namespace {

struct Summing {
  sim::ArithmeticStage stage{0};
  Summing() { stage.initialize(); }

  /// As a StageServer does. False: the sum was not what it was, and nothing was added.
  bool add(SumWatch& watch, uint64_t epoch, uint64_t step = 0) {
    if (!watch.intact(stage, epoch)) return false;
    tensor::StageInput input;
    input.samples = input.sequence = 1;
    const int32_t tokens[] = {5, 6};
    input.tokens = Buffer::from_string({reinterpret_cast<const char*>(tokens), sizeof tokens});
    const MicrobatchKey key{Step(step), Slot(next_slot_++), Attempt()};
    const std::vector<float> rows{0};
    input.activations = sim::encode(rows, input);
    BOOST_REQUIRE(stage.forward_backward(key, input, /*accumulate=*/true, false).ok());
    watch.added(stage, epoch, Step(step));
    return true;
  }
  float first() const {
    float value = 0;
    std::memcpy(&value, stage.gradient_sum().data(), sizeof value);
    return value;
  }
  bool is_finite() const {
    const Buffer sum = stage.gradient_sum();
    std::vector<float> values(sum.size() / sizeof(float));
    std::memcpy(values.data(), sum.data(), sum.size());
    return std::all_of(values.begin(), values.end(),
                       [](float value) { return std::isfinite(value); });
  }

 private:
  uint32_t next_slot_ = 0;
};

tensor::BitFault fault(StatePart part, uint64_t step) { return {"a", part, step}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(SumWatches)

BOOST_FIXTURE_TEST_CASE(a_sum_that_only_adds_change_is_intact, Summing) {
  SumWatch watch(true);
  for (int i = 0; i < 3; ++i) BOOST_TEST(add(watch, 1));
  BOOST_TEST(watch.intact(stage, 1));
  BOOST_TEST(first() == 15.0f);
}

BOOST_FIXTURE_TEST_CASE(a_bit_that_has_turned_is_seen_until_the_sum_is_another, Summing) {
  SumWatch watch(true);
  BOOST_TEST(add(watch, 1));
  stage.memory().flip_bit(StatePart::kGradientSum);
  BOOST_TEST(!add(watch, 1));
  BOOST_TEST(!watch.intact(stage, 1));
  BOOST_TEST(add(watch, 2));
  BOOST_TEST(watch.intact(stage, 2));
  BOOST_TEST(first() == 5.0f);  // the broken one is gone
}

BOOST_FIXTURE_TEST_CASE(what_turns_before_the_first_add_is_made_zero_again, Summing) {
  SumWatch watch(true);
  stage.memory().flip_bit(StatePart::kGradientSum);
  const uint64_t broken = stage.memory().sum_checksum();
  BOOST_TEST(watch.intact(stage, 1));
  BOOST_TEST(stage.memory().sum_checksum() != broken);
}

BOOST_FIXTURE_TEST_CASE(a_sum_that_was_taken_is_a_new_one, Summing) {
  SumWatch watch(true);
  BOOST_TEST(add(watch, 1));
  stage.clear_gradients();
  watch.cleared();
  BOOST_TEST(add(watch, 1));
  BOOST_TEST(first() == 5.0f);
}

BOOST_FIXTURE_TEST_CASE(who_does_not_check_reads_nothing_and_clears_nothing, Summing) {
  SumWatch watch(false);
  BOOST_TEST(add(watch, 1));
  stage.memory().flip_bit(StatePart::kGradientSum);
  BOOST_TEST(add(watch, 2));
  BOOST_TEST(first() == 10.0f);
}

BOOST_FIXTURE_TEST_CASE(a_fault_turns_its_bit_once_in_its_step_or_after_it, Summing) {
  for (const StatePart part :
       {StatePart::kParameters, StatePart::kMoments, StatePart::kGradientSum}) {
    Summing one;
    SumWatch watch(true, fault(part, 3));
    const uint64_t before = one.stage.state_checksum();
    BOOST_TEST(one.add(watch, 1, 2));
    BOOST_TEST(watch.intact(one.stage, 1));
    BOOST_TEST(one.stage.state_checksum() == before);
    BOOST_TEST(one.add(watch, 2, 4));
    const bool sum = part == StatePart::kGradientSum;
    BOOST_TEST(watch.intact(one.stage, 2) == !sum);
    BOOST_TEST((one.stage.state_checksum() == before) == sum);
    const uint64_t after = one.stage.state_checksum();
    BOOST_TEST(one.add(watch, 3, 5));
    BOOST_TEST(one.stage.state_checksum() == after);
    BOOST_TEST(watch.intact(one.stage, 3));
  }
}

BOOST_FIXTURE_TEST_CASE(a_contribution_that_is_no_number_passes_for_what_was_added, Summing) {
  SumWatch watch(true, fault(StatePart::kContribution, 3));
  BOOST_TEST(add(watch, 1, 2));
  BOOST_TEST(is_finite());
  BOOST_TEST(add(watch, 2, 3));
  BOOST_TEST(!is_finite());
  BOOST_TEST(watch.intact(stage, 2));
}

BOOST_AUTO_TEST_CASE(only_the_node_that_is_named_has_the_fault) {
  actors::FaultOptions faults;
  faults.flip_bit = "a:moments:0";
  actors::TrainingOptions training;
  for (const char* node : {"a", "b"}) {
    Summing one;
    SumWatch watch = SumWatch::of(node, training, {}, faults);
    const uint64_t before = one.stage.state_checksum();
    BOOST_TEST(one.add(watch, 1));
    BOOST_TEST((one.stage.state_checksum() == before) == (std::string(node) == "b"));
  }
}

BOOST_AUTO_TEST_CASE(local_updates_are_checked_where_a_sum_rests_between_them) {
  actors::TrainingOptions training;
  training.mode = actors::TrainingMode::kAsync;
  for (const uint32_t every : {1u, 2u}) {
    training.local_update_every = every;
    Summing one;
    SumWatch watch = SumWatch::of("b", training, {}, {});
    BOOST_TEST(one.add(watch, 1));
    one.stage.memory().flip_bit(StatePart::kGradientSum);
    BOOST_TEST(watch.intact(one.stage, 1) == (every == 1));
  }
}

BOOST_AUTO_TEST_SUITE_END()
