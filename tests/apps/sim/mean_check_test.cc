#include "apps/sim/mean_check.h"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace swarm::sim;

namespace {

/// Values that two to four nodes may have brought, with weights.
Candidates draw(std::mt19937_64& random, size_t nodes) {
  std::uniform_int_distribution<int> count(1, 3), value(-400, 400), weight(1, 16);
  Candidates of(nodes);
  for (auto& one : of)
    for (int i = count(random); i > 0; --i) one.emplace_back(value(random) / 7.0, weight(random));
  return of;
}

/// A mean of some of them, one each.
double some_mean(std::mt19937_64& random, const Candidates& of, Sum sum) {
  for (const auto& one : of)
    if (random() % 2 == 0) {
      const auto& [value, weight] = one[random() % one.size()];
      sum = sum.with(value, weight);
    }
  return sum.values / sum.weights;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(MeanCheckTest)

BOOST_AUTO_TEST_CASE(a_mean_of_some_is_one_however_many_they_are) {
  std::mt19937_64 random(7);
  for (size_t nodes = 1; nodes <= 20; ++nodes)
    for (int draws = nodes < 15 ? 20 : 2; draws > 0; --draws) {
      const auto of = draw(random, nodes);
      const Sum own = Sum().with(static_cast<double>(random() % 100), 2);
      const double mean = some_mean(random, of, own);
      BOOST_TEST(is_mean(mean, own, of), nodes << " nodes, draw " << draws);
      BOOST_TEST(is_mean_of_many(mean, own, of), nodes << " nodes, draw " << draws);
    }
}

BOOST_AUTO_TEST_CASE(what_is_a_mean_of_none_is_found_by_both_ways) {
  std::mt19937_64 random(8);
  int refused = 0, different = 0;
  for (int draws = 0; draws < 300; ++draws) {
    const auto of = draw(random, 3);
    const Sum own = Sum().with(5, 2);
    const double mean = some_mean(random, of, own) + 0.01 * static_cast<double>(random() % 200);
    const bool few = is_mean(mean, own, of);
    refused += !few;
    different += few != is_mean_of_many(mean, own, of);
  }
  BOOST_TEST(refused > 200);
  BOOST_TEST(different <= 3);  // where two sums are nearly as close as rounding
}

BOOST_AUTO_TEST_CASE(values_far_apart_take_no_more_memory) {
  Candidates of(30, {{1e12, 1e6}, {-1e12, 1}});
  BOOST_TEST(is_mean_of_many(3, Sum().with(3, 1), of));
}

BOOST_AUTO_TEST_SUITE_END()
