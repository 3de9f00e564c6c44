#include "routing/averaging/averaging_plan.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

using namespace swarm::routing;

namespace {

double slowest(const std::vector<Part>& parts, const std::vector<double>& bandwidths, double n) {
  double worst = 0;
  double m = static_cast<double>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i)
    worst = std::max(worst, (n + static_cast<double>(parts[i].count) * (m - 2)) / bandwidths[i]);
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(AveragingPlanTest)

BOOST_AUTO_TEST_CASE(equal_members_get_equal_parts) {
  auto parts = plan_parts(1600, {5, 5, 5, 5});
  for (size_t i = 0; i < 4; ++i) BOOST_TEST((parts[i] == Part{400 * i, 400}));
}

BOOST_AUTO_TEST_CASE(a_faster_member_reduces_more_and_a_hopeless_one_nothing) {
  auto parts = plan_parts(1'000'000, {100, 50, 50, 0.001});
  BOOST_TEST(parts[0].count > parts[1].count);
  BOOST_TEST(parts[1].count > 0u);
  BOOST_TEST(parts[3].count == 0u);
}

BOOST_AUTO_TEST_CASE(the_plan_beats_equal_and_proportional_parts) {
  std::vector<double> bandwidths{500, 200, 100, 400, 300};
  double n = 1e6;
  auto planned = plan_parts(1'000'000, bandwidths);
  auto equal = plan_parts(1'000'000, {1, 1, 1, 1, 1});
  BOOST_TEST(slowest(planned, bandwidths, n) < slowest(equal, bandwidths, n));
  std::vector<Part> proportional;
  for (double b : bandwidths) proportional.push_back({0, static_cast<uint64_t>(n * b / 1500)});
  BOOST_TEST(slowest(planned, bandwidths, n) <= slowest(proportional, bandwidths, n));
}

BOOST_AUTO_TEST_CASE(small_and_odd_inputs_are_covered) {
  BOOST_TEST(plan_parts(10, {}).empty());
  BOOST_TEST((plan_parts(10, {3})[0] == Part{0, 10}));
  BOOST_TEST(plan_parts(0, {1, 1})[1].count == 0u);
  auto nonsense = plan_parts(64, {0, -1});
  BOOST_TEST(nonsense[0].count == 32u);
  auto two = plan_parts(64, {0, std::numeric_limits<double>::quiet_NaN()});
  BOOST_TEST(two[1].count == 32u);
  auto one_useful = plan_parts(64, {0, 7, 0});
  BOOST_TEST(one_useful[1].count == 64u);
}

BOOST_AUTO_TEST_CASE(parts_always_cover_in_order_and_inner_borders_are_aligned) {
  bool holds = rc::check([] {
    auto n = *rc::gen::inRange<uint64_t>(0, 100'000);
    auto raw = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000)));
    std::vector<double> bandwidths(raw.begin(), raw.end());
    auto parts = plan_parts(n, bandwidths);
    RC_ASSERT(parts.size() == bandwidths.size());
    uint64_t next = 0;
    for (const Part& part : parts) {
      RC_ASSERT(part.first == next);
      next += part.count;
      if (n >= 16 * parts.size() && next != n) RC_ASSERT(next % 16 == 0u);
    }
    RC_ASSERT(next == n);
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(of_many_members_with_a_short_vector_some_reduce_and_others_in_the_next_round) {
  auto sizes = [](uint64_t round) {
    std::vector<uint64_t> counts;
    for (const Part& part : plan_parts(96, reducers(96, 5, /*min_part=*/32, round)))
      counts.push_back(part.count);
    return counts;
  };
  BOOST_TEST(sizes(0) == (std::vector<uint64_t>{32, 32, 32, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(sizes(4) == (std::vector<uint64_t>{32, 32, 0, 0, 32}),
             boost::test_tools::per_element());
  BOOST_TEST((sizes(5) == sizes(0)));
}

BOOST_AUTO_TEST_CASE(somebody_reduces_however_short_the_vector_and_all_do_if_it_is_long) {
  BOOST_TEST(plan_parts(3, reducers(3, 4, 4'096, 2))[2].count == 3u);
  for (const Part& part : plan_parts(64'000, reducers(64'000, 4, 4'096, 1)))
    BOOST_TEST(part.count == 16'000u);
}

BOOST_AUTO_TEST_CASE(chunks_cover_their_part) {
  auto pieces = chunks({100, 25}, 10);
  BOOST_REQUIRE_EQUAL(pieces.size(), 3u);
  BOOST_TEST((pieces[0] == Part{100, 10}));
  BOOST_TEST((pieces[2] == Part{120, 5}));
  BOOST_TEST(chunks({7, 0}, 10).empty());
  BOOST_TEST(chunks({7, 10}, 10).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
