#include "routing/averaging/averaging_plan.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace swarm::routing;

BOOST_AUTO_TEST_SUITE(AveragingPlanTest)

BOOST_AUTO_TEST_CASE(equal_members_get_equal_parts) {
  auto parts = plan_parts(1600, {5, 5, 5, 5});
  for (size_t i = 0; i < 4; ++i) BOOST_TEST((parts[i] == Part{400 * i, 400}));
}

BOOST_AUTO_TEST_CASE(parts_are_as_long_as_their_weights) {
  auto parts = plan_parts(1'600, {5, 2, 0, 1});
  BOOST_TEST((parts[0] == Part{0, 1'008}));  // 1,000, at a border of 16
  BOOST_TEST((parts[1] == Part{1'008, 400}));
  BOOST_TEST(parts[2].count == 0u);
  BOOST_TEST((parts[3] == Part{1'408, 192}));
}

BOOST_AUTO_TEST_CASE(small_and_odd_inputs_are_covered) {
  BOOST_TEST(plan_parts(10, {}).empty());
  BOOST_TEST((plan_parts(10, {3})[0] == Part{0, 10}));
  BOOST_TEST(plan_parts(0, {1, 1})[1].count == 0u);
  BOOST_TEST(plan_parts(64, {0, 0})[0].count == 32u);  // nobody has a weight: all are equal
  BOOST_TEST(plan_parts(64, {0, 7, 0})[1].count == 64u);
  const uint64_t longest = (1ull << 40) - 1;
  const auto parts = plan_parts(longest, std::vector<uint32_t>(kMostParts, kMostWeight));
  BOOST_TEST(parts.back().first + parts.back().count == longest);
  BOOST_TEST(parts[1].first == 1ull << 30);
}

BOOST_AUTO_TEST_CASE(parts_always_cover_in_order_and_inner_borders_are_aligned) {
  bool holds = rc::check([] {
    auto n = *rc::gen::inRange<uint64_t>(0, 100'000);
    auto weights = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, 1'000)));
    auto parts = plan_parts(n, weights);
    RC_ASSERT(parts.size() == weights.size());
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

/// In how many of so many rounds each reduces. Stages take turns with the numbers of rounds.
std::vector<int> rounds_with(uint64_t n, const std::vector<uint32_t>& weights, uint64_t min_part,
                             uint64_t apart = 4) {
  std::vector<int> rounds(weights.size(), 0);
  for (uint64_t round = 0; round < 1'000; ++round) {
    const auto chosen = reducers(n, weights, min_part, (7ull << 32) + apart * round);
    for (size_t i = 0; i < chosen.size(); ++i) rounds[i] += chosen[i] > 0 ? 1 : 0;
  }
  return rounds;
}

BOOST_AUTO_TEST_CASE(of_many_members_with_a_short_vector_some_reduce_and_others_in_other_rounds) {
  for (uint64_t round = 0; round < 20; ++round) {
    const auto parts = plan_parts(96, reducers(96, {1, 1, 1, 1, 1}, /*min_part=*/32, round));
    int reduce = 0;
    for (const Part& part : parts) reduce += part.count > 0 ? 1 : 0;
    BOOST_TEST(reduce == 3);
    for (const Part& part : parts) BOOST_TEST((part.count == 0 || part.count == 32u));
  }
  for (const int rounds : rounds_with(96, {1, 1, 1, 1, 1}, 32)) {
    BOOST_TEST(rounds > 550);  // 3 of 5
    BOOST_TEST(rounds < 650);
  }
}

BOOST_AUTO_TEST_CASE(each_is_chosen_as_often_as_its_weight_says) {
  const auto rounds = rounds_with(4'096, {400, 100, 0, 300, 200}, 4'096);
  const std::vector<int> right{400, 100, 0, 300, 200};
  for (size_t i = 0; i < right.size(); ++i) BOOST_TEST(std::abs(rounds[i] - right[i]) < 60);
  BOOST_TEST(rounds[2] == 0);
}

BOOST_AUTO_TEST_CASE(a_member_without_a_part_never_reduces) {
  bool holds = rc::check([] {
    const auto weights = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, 3)));
    const auto n = *rc::gen::inRange<uint64_t>(1, 20'000);
    const auto chosen = reducers(n, weights, 1'000, *rc::gen::arbitrary<uint64_t>());
    const bool any = std::any_of(weights.begin(), weights.end(), [](auto one) { return one > 0; });
    uint64_t reduce = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (any) RC_ASSERT(weights[i] > 0 || chosen[i] == 0);
      reduce += chosen[i] > 0 ? 1 : 0;
    }
    RC_ASSERT(reduce >= 1u);
    RC_ASSERT(reduce <= std::max<uint64_t>(1, n / 1'000));
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(somebody_reduces_however_short_the_vector_and_all_do_if_it_is_long) {
  const std::vector<uint32_t> equal(4, 1);
  const auto parts = plan_parts(3, reducers(3, equal, 4'096, 2));
  BOOST_TEST(std::count_if(parts.begin(), parts.end(),
                           [](const Part& part) { return part.count == 3; }) == 1);
  for (const Part& part : plan_parts(64'000, reducers(64'000, equal, 4'096, 1)))
    BOOST_TEST(part.count == 16'000u);
}

BOOST_AUTO_TEST_CASE(a_member_whose_weight_makes_no_whole_part_reduces_nothing) {
  const auto chosen = reducers(40'000, {10, 0, 10, 1}, 4'096, 3);
  BOOST_TEST(chosen == (std::vector<uint32_t>{10, 0, 10, 0}), boost::test_tools::per_element());
  const auto one = reducers(100, {3, 2, 2, 1}, 4'096, 1);  // by lot
  BOOST_TEST(std::count(one.begin(), one.end(), 0u) == 3);
}

BOOST_AUTO_TEST_CASE(parts_are_never_shorter_than_they_may_be) {
  bool holds = rc::check([] {
    const auto weights = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, 1'000)));
    const auto n = *rc::gen::inRange<uint64_t>(1, 100'000);
    const auto chosen = reducers(n, weights, 1'000, *rc::gen::inRange<uint64_t>(0, 100));
    uint64_t parts = 0, least = n, at_least = 1'000 - 16;  // of alignment
    for (const Part& part : plan_parts(n, chosen)) {
      if (part.count == 0) continue;
      ++parts;
      least = std::min(least, part.count);
    }
    RC_ASSERT(parts >= 1u);
    RC_ASSERT(parts == 1u || least >= at_least);
  });
  BOOST_TEST(holds);
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
