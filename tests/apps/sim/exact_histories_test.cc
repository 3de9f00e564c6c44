// What parameters may be: whoever computes on other weights than the step's has others.
#include "apps/sim/exact_histories.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <functional>
#include <utility>

#include "apps/sim/arithmetic_stage.h"

using namespace swarm;
using namespace swarm::sim;

namespace {

constexpr uint32_t kBatch = 4, kMicrobatch = 2;

/// Two stages in one process, trained as a swarm of two peers trains them.
struct TwoStages {
  TwoStages() {
    first.initialize();
    last.initialize();
  }
  tensor::StageInput slot(uint64_t step, uint32_t slot) const {
    tensor::StageInput input;
    input.samples = kMicrobatch;
    input.sequence = 1;
    std::string tokens;
    for (uint64_t i = 0; i < kMicrobatch; ++i) {
      const int32_t value = sample_value(step * kBatch + slot * kMicrobatch + i);
      for (int t = 0; t < 2; ++t) tokens.append(reinterpret_cast<const char*>(&value), 4);
    }
    input.tokens = Buffer::from_string(std::move(tokens));
    return input;
  }
  void train(
      uint64_t step, uint32_t number, const std::function<void()>& after_last = [] {}) {
    const tensor::MicrobatchKey key{Step(step), Slot(number), Attempt(1)};
    auto input = slot(step, number);
    auto activations = first.forward(key, input, false);
    BOOST_REQUIRE(activations.ok());
    input.activations = *activations;
    auto loss = last.forward_backward(key, input, true, false);
    BOOST_REQUIRE(loss.ok());
    after_last();
    BOOST_REQUIRE(first.backward(key, loss->gradient, true).ok());
  }
  static void apply(ArithmeticStage& stage, const Buffer& sum, uint32_t samples = kBatch) {
    std::vector<float> mean(sum.size() / sizeof(float));
    std::memcpy(mean.data(), sum.data(), sum.size());
    for (float& g : mean) g *= static_cast<float>(1.0 / samples);
    BOOST_REQUIRE(stage.apply(copy_of(mean), 1).ok());
  }
  static void update(ArithmeticStage& stage, uint32_t samples = kBatch) {
    apply(stage, stage.gradient_sum(), samples);
  }
  void train_step(uint64_t step) {
    for (uint32_t number = 0; number < kBatch / kMicrobatch; ++number) train(step, number);
    update(first);
    update(last);
  }
  /// Of the first stage, at a step that nobody is at.
  static Buffer other_state() {
    ArithmeticStage other{0};
    other.initialize();
    apply(other, copy_of(std::vector<float>(kParameters, 3.0f)), 1);
    return other.save_state();
  }
  bool right() {
    return histories.has(Stage(0), first.step(), first.parameters()) &&
           histories.has(Stage(1), last.step(), last.parameters());
  }
  void close(uint64_t step, uint64_t computed_on, std::vector<uint32_t> skipped = {}) {
    records::ClosedStep line;
    line.step = step;
    line.computed_on = computed_on;
    line.skipped = std::move(skipped);
    histories.closed(line);
  }

  ArithmeticStage first{0, {}, 0, {}, ArithmeticState(kParameters, /*has_weight=*/true)};
  ArithmeticStage last{1, {}, 0, {}, ArithmeticState(kParameters, /*has_weight=*/true)};
  ExactHistories histories{{2, kBatch, kMicrobatch, true}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(ExactHistoriesTest, TwoStages)

BOOST_AUTO_TEST_CASE(parameters_of_a_run_in_one_process_are_right_after_each_step) {
  for (uint64_t step = 0; step < 10; ++step) {
    train_step(step);
    BOOST_TEST(right());
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_computed_on_stale_weights_is_found) {
  train_step(0);
  const Buffer fresh = first.save_state();
  first.initialize();  // who has not seen the update computes all of step 1
  train(1, 0);
  train(1, 1);
  const Buffer sum = first.gradient_sum();
  BOOST_REQUIRE(first.load_state(fresh).ok());
  apply(first, sum);
  BOOST_TEST(!histories.has(Stage(0), 2, first.parameters()));
  update(last);  // and what it sent on was stale as well
  BOOST_TEST(!histories.has(Stage(1), 2, last.parameters()));
}

BOOST_AUTO_TEST_CASE(an_update_between_the_passes_of_a_microbatch_is_found) {
  train_step(0);
  train(1, 0);
  const Buffer right_state = first.save_state();
  train(1, 1, [&] { BOOST_REQUIRE(first.load_state(other_state()).ok()); });
  const Buffer sum = first.gradient_sum();
  BOOST_REQUIRE(first.load_state(right_state).ok());
  apply(first, sum);
  update(last);
  BOOST_TEST(histories.has(Stage(1), 2, last.parameters()));
  BOOST_TEST(!histories.has(Stage(0), 2, first.parameters()));
}

BOOST_AUTO_TEST_CASE(stages_of_two_histories_together_are_found) {
  train_step(0);
  const Buffer other = last.save_state();  // of a history that has left out a slot of step 1
  close(1, 1, {1});
  train(1, 0);
  update(last, kMicrobatch);
  BOOST_TEST(histories.has(Stage(1), 2, last.parameters()));
  const Buffer without = last.save_state();
  BOOST_REQUIRE(last.load_state(other).ok());
  first.clear_gradients();
  train(1, 0);
  train(1, 1);
  update(first);
  BOOST_TEST(histories.has(Stage(0), 2, first.parameters()));
  BOOST_REQUIRE(last.load_state(without).ok());
  BOOST_TEST(right());  // each alone
  train_step(2);
  BOOST_TEST(!right());
}

BOOST_AUTO_TEST_CASE(a_delayed_step_is_computed_on_the_parameters_before) {
  histories = ExactHistories({2, kBatch, kMicrobatch, false});
  close(0, 0);
  close(1, 0);
  train(0, 0);
  train(0, 1);
  const Buffer of_0 = first.gradient_sum();
  first.clear_gradients();
  last.clear_gradients();
  train(1, 0);
  train(1, 1);
  const Buffer of_1 = first.gradient_sum();
  for (const Buffer& sum : {of_0, of_1}) {
    apply(first, sum);
    BOOST_TEST(histories.has(Stage(0), first.step(), first.parameters()));
  }
  BOOST_TEST(!histories.has(Stage(0), 3, first.parameters()));  // nobody closed step 2
}

BOOST_AUTO_TEST_SUITE_END()
