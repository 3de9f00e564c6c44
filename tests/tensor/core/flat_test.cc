#include "tensor/core/flat.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/core/float_bits.h"
#include "tensor/core/options.h"

namespace swarm::tensor {

BOOST_AUTO_TEST_SUITE(Flat)

BOOST_AUTO_TEST_CASE(sums_and_products_are_those_of_single_elements) {
  std::vector<float> a, b, sum;
  for (int i = 0; i < 1001; ++i) {
    a.push_back(0.1f * static_cast<float>(i));
    b.push_back(1.0f / static_cast<float>(i + 1));
    sum.push_back(a.back() + b.back());
  }
  add_into(a.data(), b.data(), a.size());
  BOOST_TEST(a == sum);
  for (float& x : sum) x *= 0.3f;
  scale(a.data(), a.size(), 0.3f);
  BOOST_TEST(a == sum);
}

BOOST_AUTO_TEST_CASE(squared_norm_is_accumulated_in_double) {
  std::vector<float> ones(1'000'003, 1e-4f);
  ones[17] = 1e4f;  // in float the small ones (1e-10 of the sum) would vanish
  const double expected = 1e8 + 1'000'002 * (double{1e-4f} * double{1e-4f});
  BOOST_TEST(squared_norm(ones.data(), ones.size()) == expected,
             boost::test_tools::tolerance(1e-11));
  BOOST_TEST(squared_norm(nullptr, 0) == 0.0);
}

BOOST_AUTO_TEST_CASE(one_bad_element_is_found_anywhere) {
  std::vector<float> x(100, 3.0e38f);
  BOOST_TEST(all_finite(x.data(), x.size()));
  for (size_t i : {size_t{0}, size_t{63}, size_t{99}}) {
    for (float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
      std::vector<float> y = x;
      y[i] = bad;
      BOOST_TEST(!all_finite(y.data(), y.size()));
    }
  }
}

BOOST_AUTO_TEST_CASE(any_bit_that_turns_changes_the_sum_of_words) {
  std::vector<float> x;
  for (int i = 0; i < 101; ++i) x.push_back(static_cast<float>(i) - 50.5f);
  uint64_t words = 0;
  for (float value : x) words += bits_of(value);
  BOOST_TEST(word_sum(x.data(), x.size()) == words);
  for (size_t i : {size_t{0}, size_t{63}, size_t{100}})
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> y = x;
      y[i] = float_of(bits_of(y[i]) ^ (1u << bit));
      BOOST_TEST(word_sum(y.data(), y.size()) != words);
    }
  BOOST_TEST(word_sum(nullptr, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(bytes_at_an_odd_address_are_copied_and_others_shared) {
  MutableBuffer memory = MutableBuffer::allocate(13);
  for (size_t i = 0; i < 13; ++i) memory.data()[i] = static_cast<uint8_t>(i);
  const Buffer even = memory.freeze().slice(0, 12), odd = memory.freeze().slice(1, 12);
  BOOST_TEST(aligned_floats(even).data() == even.data());
  BOOST_TEST(aligned_floats(odd).data() != odd.data());
  BOOST_TEST((aligned_floats(odd).view() == odd.view()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(Options)

BOOST_AUTO_TEST_CASE(layers_are_split_evenly_with_the_rest_in_front) {
  ModelOptions model;
  model.layers = 7;
  int next = 0;
  for (int stage = 0; stage < 3; ++stage) {
    LayerRange range = stage_layers(model, stage, 3);
    BOOST_TEST(range.first == next);
    BOOST_TEST(range.count == (stage == 0 ? 3 : 2));
    next += range.count;
  }
  BOOST_TEST((with_split(model, 3).layers_per_stage == std::vector<int32_t>{3, 2, 2}));
  model.layers_per_stage = {1, 5, 1};
  BOOST_TEST(stage_layers(model, 2, 3).first == 6);
  BOOST_TEST((with_split(model, 3).layers_per_stage == model.layers_per_stage));
}

BOOST_AUTO_TEST_CASE(every_broken_rule_is_reported_with_its_key) {
  ModelOptions model;
  model.width = 100;
  model.heads = 3;
  model.layers_per_stage = {1, 2};
  auto errors = model.validate();
  BOOST_REQUIRE(errors.size() == 2);
  BOOST_TEST(errors[0].detail == "model.width: must be divisible by model.heads (got 100 and 3)");
  BOOST_TEST(errors[1].detail ==
             "model.layers_per_stage: must add up to model.layers (got 3 and 8)");
  BOOST_TEST(ModelOptions{}.validate().empty());
  OptimizerOptions optimizer;
  BOOST_TEST(optimizer.validate().empty());
  optimizer.beta1 = 1;
  optimizer.epsilon = 0;
  optimizer.schedule = Schedule::kCosine;
  BOOST_TEST(optimizer.validate().size() == 3);
  optimizer.learning_rate = NAN;
  BOOST_TEST(optimizer.validate().size() >= 4);
  BOOST_TEST(DataOptions{}.validate().size() == 1);
}

BOOST_AUTO_TEST_CASE(learning_rate_warms_up_then_falls_as_a_cosine) {
  OptimizerOptions o;
  o.learning_rate = 1;
  o.min_learning_rate = 0.1;
  o.warmup_steps = 4;
  o.total_steps = 14;
  o.schedule = Schedule::kCosine;
  auto tolerance = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(learning_rate(o, 0) == 0.25, tolerance);
  BOOST_TEST(learning_rate(o, 3) == 1.0, tolerance);
  BOOST_TEST(learning_rate(o, 4) == 1.0, tolerance);
  BOOST_TEST(learning_rate(o, 9) == 0.55, tolerance);
  BOOST_TEST(learning_rate(o, 14) == 0.1, tolerance);
  BOOST_TEST(learning_rate(o, 1000) == 0.1, tolerance);
}

BOOST_AUTO_TEST_CASE(learning_rate_warms_up_then_falls_in_a_straight_line) {
  OptimizerOptions o;
  o.learning_rate = 1;
  o.min_learning_rate = 0.1;
  o.warmup_steps = 4;
  o.total_steps = 14;
  o.schedule = Schedule::kLinear;
  auto tolerance = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(learning_rate(o, 0) == 0.25, tolerance);
  BOOST_TEST(learning_rate(o, 3) == 1.0, tolerance);
  BOOST_TEST(learning_rate(o, 4) == 1.0, tolerance);
  BOOST_TEST(learning_rate(o, 6) == 0.82, tolerance);
  BOOST_TEST(learning_rate(o, 9) == 0.55, tolerance);
  BOOST_TEST(learning_rate(o, 13) == 0.19, tolerance);
  BOOST_TEST(learning_rate(o, 14) == 0.1, tolerance);
  BOOST_TEST(learning_rate(o, 1000) == 0.1, tolerance);
  BOOST_TEST(o.validate().empty());
  o.total_steps = 4;
  BOOST_REQUIRE(o.validate().size() == 1);
  BOOST_TEST(o.validate()[0].detail ==
             "optimizer.total_steps: the linear schedule needs more than optimizer.warmup_steps "
             "(got 4 and 4)");
}

BOOST_AUTO_TEST_CASE(clipping_shortens_only_long_gradients) {
  OptimizerOptions o;
  BOOST_TEST(clip_scale(o, 0.5) == 1.0);
  BOOST_TEST(clip_scale(o, 4.0) == 0.25);
  o.clip_norm = 0;
  BOOST_TEST(clip_scale(o, 4.0) == 1.0);
}

BOOST_AUTO_TEST_CASE(norm_and_digest_are_those_of_two_readings) {
  std::vector<float> values(100'003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  for (const size_t n :
       {size_t{0}, size_t{1}, size_t{16'383}, size_t{16'384}, size_t{16'385}, values.size()}) {
    const NormAndDigest both = norm_and_digest(values.data(), n);
    BOOST_TEST(both.digest == digest(values.data(), n * sizeof(float)));
    BOOST_TEST(both.squared_norm == squared_norm(values.data(), n),
               boost::test_tools::tolerance(1e-12));
  }
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    values[77'777] = bad;
    BOOST_TEST(!std::isfinite(norm_and_digest(values.data(), values.size()).squared_norm));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
