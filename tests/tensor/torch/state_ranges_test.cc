/// A state put together from ranges of several steps, each brought on by the means of its own later
/// updates, is bit for bit the state of a stage that made them all (docs/averaging.md, "Learners").
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tensor/torch/model_stage.h"
#include "tests/tensor/torch/stage_fixture.h"

namespace swarm::tensor {
namespace {

Buffer some_gradient(uint64_t n, uint64_t seed) {
  MutableBuffer out = MutableBuffer::allocate(n * sizeof(float));
  auto* g = reinterpret_cast<float*>(out.data());
  for (uint64_t i = 0; i < n; ++i)
    g[i] = std::sin(static_cast<float>(i % 977) * 0.37f + static_cast<float>(seed));
  return out.freeze();
}

struct Update {
  Buffer gradient;
  UpdateScales scales;
};

std::unique_ptr<ModelStage> make(OptimizerKind kind) {
  StageOptions options = stage_options(0, 2);
  options.optimizer.kind = kind;
  auto stage = open_stage(options);
  require_ok(stage);
  return std::move(*stage);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StateRanges)

BOOST_AUTO_TEST_CASE(ranges_of_several_steps_make_the_same_bits) {
  for (const auto kind : {OptimizerKind::kAdamw, OptimizerKind::kNag, OptimizerKind::kLamb}) {
    auto donor = make(kind), learner = make(kind);
    const uint64_t n = donor->num_parameters();
    // Uneven, so that ranges end within parameters and where weight decay changes.
    const uint64_t range = n / 7 + 13;
    std::vector<Update> updates;
    struct Held {
      uint64_t first, count, step;
      OptimizerCounters counters;
    };
    std::vector<Held> held;
    for (uint64_t step = 0; step < 9; ++step) {
      if (const uint64_t first = step * range; first < n) {  // one range at each step
        const uint64_t count = std::min(range, n - first);
        auto taken = donor->save_range(first, count);
        require_ok(taken);
        BOOST_REQUIRE(learner->load_range(first, count, *taken).ok());
        held.push_back({first, count, donor->step(), donor->counters()});
      }
      const Buffer gradient = some_gradient(n, step);
      auto scales = donor->apply(gradient, step % 2 == 0 ? 1.0 : 0.37);
      require_ok(scales);
      BOOST_TEST(scales->factors.empty() == (kind != OptimizerKind::kLamb));
      updates.push_back({gradient, *scales});
    }
    for (auto one = held.rbegin(); one != held.rend(); ++one)  // in any order
      for (; one->step < donor->step(); ++one->step) {
        const Update& update = updates[one->step];
        auto counted = learner->update_range(
            one->first, one->count, one->step, one->counters,
            update.gradient.slice(one->first * sizeof(float), one->count * sizeof(float)),
            update.scales);
        require_ok(counted);
        one->counters = *counted;
      }
    BOOST_REQUIRE(learner->settle(donor->step(), held.front().counters).ok());
    BOOST_TEST(learner->checksum() == donor->checksum());
    BOOST_TEST((learner->save_state().view() == donor->save_state().view()));
    const Buffer next = some_gradient(n, 99);  // and they go on alike
    BOOST_REQUIRE(donor->apply(next, 0.5).ok());
    BOOST_REQUIRE(learner->apply(next, 0.5).ok());
    BOOST_TEST((learner->save_state().view() == donor->save_state().view()));
  }
}

BOOST_AUTO_TEST_CASE(an_update_with_other_counters_makes_other_bits) {
  auto donor = make(OptimizerKind::kAdamw), learner = make(OptimizerKind::kAdamw);
  const uint64_t n = donor->num_parameters();
  const Buffer gradient = some_gradient(n, 1);
  BOOST_REQUIRE(learner->load_range(0, n, *donor->save_range(0, n)).ok());
  auto counters = donor->counters();
  counters.updates += 5;
  require_ok(learner->update_range(0, n, 0, counters, gradient, {}));
  BOOST_REQUIRE(donor->apply(gradient, 1).ok());
  BOOST_TEST(learner->checksum() != donor->checksum());
}

BOOST_AUTO_TEST_CASE(what_is_outside_or_of_another_size_or_not_finite_is_refused) {
  auto stage = make(OptimizerKind::kAdamw);
  const uint64_t n = stage->num_parameters();
  const std::string before(stage->save_state().view());
  const std::vector<std::pair<uint64_t, uint64_t>> outside = {
      {n, 1}, {0, n + 1}, {1, n}, {0, 0}, {~uint64_t{0}, 2}};
  for (const auto& [first, count] : outside) {
    BOOST_TEST((stage->save_range(first, count).code() == ErrorCode::kInvalidArgument));
    BOOST_TEST((stage->load_range(first, count, {}).code() == ErrorCode::kInvalidArgument));
    BOOST_TEST(
        (stage->update_range(first, count, 0, {}, {}, {}).code() == ErrorCode::kInvalidArgument));
  }
  BOOST_TEST((stage->load_range(0, 2, some_gradient(5, 0)).code() == ErrorCode::kShapeMismatch));
  BOOST_TEST((stage->update_range(0, 2, 0, {}, some_gradient(3, 0), {}).code() ==
              ErrorCode::kShapeMismatch));
  const float bad[] = {1, std::nanf("")};
  const Buffer nan = Buffer::from_string(std::string(reinterpret_cast<const char*>(bad), 8));
  BOOST_TEST((stage->update_range(0, 2, 0, {}, nan, {}).code() == ErrorCode::kNonFinite));
  BOOST_TEST((stage->update_range(0, 2, 0, {}, some_gradient(2, 0), {1, {1}}).code() ==
              ErrorCode::kShapeMismatch));  // AdamW has no factors
  BOOST_TEST((stage->settle(3, {~uint64_t{0}, 1}).code() == ErrorCode::kCorruptCheckpoint));
  BOOST_TEST((stage->save_state().view() == before));
}

BOOST_AUTO_TEST_CASE(a_range_of_a_layer_wise_update_needs_the_factors_of_all_matrices) {
  auto donor = make(OptimizerKind::kLamb), learner = make(OptimizerKind::kLamb);
  const uint64_t n = donor->num_parameters();
  const Buffer gradient = some_gradient(n, 1);
  const std::string before(learner->save_state().view());
  auto applied = donor->apply(gradient, 1);
  require_ok(applied);
  const UpdateScales scales = *applied;
  BOOST_TEST(scales.clip_scale == 1);
  // Stage 0 of 2: tokens (positions are not decayed), and 4 matrices of each of 4 blocks.
  BOOST_TEST(scales.factors.size() == 17u);
  auto code = [&](const UpdateScales& other) {
    return learner->update_range(0, n, 0, {}, gradient, other).code();
  };
  UpdateScales fewer = scales, negative = scales, nan = scales;
  fewer.factors.pop_back();
  negative.factors[3] = -1;
  nan.factors[3] = std::nanf("");
  BOOST_TEST((code({}) == ErrorCode::kShapeMismatch));
  BOOST_TEST((code(fewer) == ErrorCode::kShapeMismatch));
  BOOST_TEST((code(negative) == ErrorCode::kNonFinite));
  BOOST_TEST((code(nan) == ErrorCode::kNonFinite));
  BOOST_TEST((learner->save_state().view() == before));
  UpdateScales other = scales;
  other.factors[16] *= 1.5f;
  require_ok(learner->update_range(0, n, 0, {}, gradient, other));
  BOOST_TEST(learner->checksum() != donor->checksum());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
