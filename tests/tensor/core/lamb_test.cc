/// What LAMB does beyond what tensor/core/optimizer_test.cc asks of every optimizer. It is compared
/// with LibTorch's operations in tests/tensor/torch/lamb_test.cc.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/core/optimizer.h"

namespace swarm::tensor {
namespace {

/// Matrices, which are decayed, of these sizes; a bias of 5 behind each.
std::vector<ParameterInfo> layout(const std::vector<uint64_t>& matrices) {
  std::vector<ParameterInfo> out;
  uint64_t next = 0;
  for (uint64_t size : matrices)
    for (bool decayed : {true, false}) {
      ParameterInfo info;
      info.offset = next;
      info.size = decayed ? size : 5;
      info.decayed = decayed;
      next += info.size;
      out.push_back(info);
    }
  return out;
}

OptimizerOptions lamb() {
  OptimizerOptions o;
  o.kind = OptimizerKind::kLamb;
  o.learning_rate = 0.1;
  o.beta1 = 0.5;
  o.beta2 = 0.75;
  o.epsilon = 1e-30;
  o.weight_decay = 0.5;
  return o;
}

std::vector<float> random_floats(std::mt19937_64& generator, size_t n) {
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = normal(generator) * std::pow(10.0f, float(i % 7) - 4);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(LambTest)

// b1 = 0.5, b2 = 0.75, lr = 0.1, decay 0.5; a matrix (3, 4) with gradients (2, -2), then (-2, 2).
//   t = 1: m / 0.5 = (2, -2), v / 0.25 = 4: adam = (1, -1); u = (1 + 1.5, -1 + 2) = (2.5, 1)
//          |w| / |u| = 5 / sqrt(7.25) = 1.85695338
//          w = (3 - 0.185695338 * 2.5, 4 - 0.185695338) = (2.53576165, 3.81430466)
//   t = 2: m = (-0.5, 0.5) / 0.75, v = 1.75 / 0.4375 = 4: adam = (-1/3, 1/3)
//          u = (0.93454749, 2.24048566), |w| / |u| = 1.88676814; w = (2.35943421, 3.39157697)
// The bias has AdamW's steps without decay: 1 - 0.1 = 0.9, then 0.9 + 0.1 / 3.
BOOST_AUTO_TEST_CASE(lamb_follows_a_trajectory_computed_by_hand) {
  auto optimizer = make_optimizer(lamb(), layout({2}));
  std::vector<float> w = {3, 4, 1, 1, 1, 1, 1}, g = {2, -2, 2, 2, 2, 2, 2};
  const auto tolerance = boost::test_tools::tolerance(1e-6f);
  optimizer->step(g.data(), 0, 1, w.data(), w.data());
  BOOST_TEST(w[0] == 2.53576165f, tolerance);
  BOOST_TEST(w[1] == 3.81430466f, tolerance);
  BOOST_TEST(w[2] == 0.9f, tolerance);
  BOOST_REQUIRE(optimizer->factors().size() == 1);
  BOOST_TEST(optimizer->factors()[0] == 1.85695338f, tolerance);
  for (float& x : g) x *= -2;
  optimizer->step(g.data(), 7, 0.5, w.data(), w.data());
  BOOST_TEST(w[0] == 2.35943421f, tolerance);
  BOOST_TEST(w[1] == 3.39157697f, tolerance);
  BOOST_TEST(w[2] == 0.93333333f, tolerance);
  BOOST_TEST(optimizer->factors()[0] == 1.88676814f, tolerance);
}

BOOST_AUTO_TEST_CASE(each_matrix_moves_by_the_rate_times_its_own_norm) {
  auto optimizer = make_optimizer(lamb(), layout({5000, 300, 9000}));
  std::mt19937_64 generator(3);
  std::vector<float> w = random_floats(generator, 14315), before = w;
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = before[i] = before[i] * (i < 5005 ? 100.0f : 0.01f);  // a large one, and small ones
  const auto g = random_floats(generator, w.size());
  optimizer->step(g.data(), 0, 1, w.data(), w.data());
  BOOST_TEST(optimizer->factors().size() == 3);
  for (const auto& [from, size] : {std::pair{0, 5000}, {5005, 300}, {5310, 9000}}) {
    double norm = 0, moved = 0;
    for (int i = from; i < from + size; ++i) {
      norm += std::pow(double{before[i]}, 2);
      moved += std::pow(double{w[i]} - before[i], 2);
    }
    BOOST_TEST(std::sqrt(moved / norm) == 0.1, boost::test_tools::tolerance(1e-5));
  }
}

BOOST_AUTO_TEST_CASE(where_a_norm_is_0_the_factor_is_1) {
  OptimizerOptions o = lamb();
  auto optimizer = make_optimizer(o, layout({2}));
  std::vector<float> w(7, 0), g(7, 2);
  optimizer->step(g.data(), 0, 1, w.data(), w.data());  // of zeros
  BOOST_TEST(optimizer->factors()[0] == 1.0f);
  BOOST_TEST(w[0] == -0.1f, boost::test_tools::tolerance(1e-6f));
  o.weight_decay = 0;
  optimizer = make_optimizer(o, layout({2}));
  w.assign(7, 1);
  g.assign(7, 0);
  optimizer->step(g.data(), 0, 1, w.data(), w.data());  // by zeros
  BOOST_TEST(optimizer->factors()[0] == 1.0f);
  BOOST_TEST(w[0] == 1.0f);
}

// Blocks of a norm are 4,096 elements; parts begin and end within them and at their ends.
BOOST_AUTO_TEST_CASE(the_bits_do_not_depend_on_the_split_into_threads_or_ranges) {
  const auto parameters = layout({20'000, 3, 4096, 8193});
  const uint64_t n = layout_size(parameters);
  auto whole = make_optimizer(lamb(), parameters), ranges = make_optimizer(lamb(), parameters);
  std::vector<std::unique_ptr<Optimizer>> split;
  for (size_t each : {7, 1000, 4096, 5000})
    split.push_back(
        make_optimizer(lamb(), parameters, [each](size_t size, const ParallelBody& body) {
          const size_t parts = (size + each - 1) / each;
          for (size_t part = parts; part-- > 0;)  // in another order
            body(part * each, std::min(size, (part + 1) * each));
        }));
  std::mt19937_64 generator(6);
  std::vector<float> w = random_floats(generator, n), pieces = w;
  std::vector<std::vector<float>> others(split.size(), w);
  for (uint64_t t = 0; t < 6; ++t) {
    const auto g = random_floats(generator, n);
    const OptimizerCounters before = whole->counters();
    whole->step(g.data(), t, 0.7, w.data(), w.data());
    for (size_t i = 0; i < split.size(); ++i) {
      split[i]->step(g.data(), t, 0.7, others[i].data(), others[i].data());
      BOOST_REQUIRE((others[i] == w));
      BOOST_REQUIRE((split[i]->factors() == whole->factors()));
    }
    for (uint64_t first = 0; first < n; first += 3001)
      BOOST_REQUIRE(ranges
                        ->step_range(first, std::min<uint64_t>(3001, n - first), before,
                                     whole->factors(), g.data() + first, t, 0.7, pieces.data())
                        .ok());
    BOOST_REQUIRE((pieces == w));
  }
  BOOST_TEST(std::memcmp(whole->moments(), ranges->moments(), whole->moments_bytes()) == 0);
  BOOST_TEST(!ranges->step_range(0, 1, {}, {1, 1, 1}, w.data(), 0, 1, pieces.data()).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
