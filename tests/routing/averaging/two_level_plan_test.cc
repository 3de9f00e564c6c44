#include "routing/averaging/two_level_plan.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

using namespace swarm::routing;

namespace {

std::vector<uint32_t> any_weights(uint32_t most) {
  return *rc::gen::suchThat(
      rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, most)),
      [](const auto& weights) { return !weights.empty() && weights.size() <= 100; });
}

uint64_t weight_of(const std::vector<uint32_t>& group, const std::vector<uint32_t>& weights) {
  uint64_t all = 0;
  for (const uint32_t member : group) all += weights[member];
  return all;
}

/// By member: how many others it talks to, and its elements of sums received and means sent as a top.
struct Load {
  std::vector<std::set<uint32_t>> others;
  std::vector<uint64_t> reduced, topped;
};
Load load_of(const TwoLevelPlan& plan) {
  const size_t members = plan.group_of.size();
  Load load{std::vector<std::set<uint32_t>>(members), std::vector<uint64_t>(members),
            std::vector<uint64_t>(members)};
  auto talk = [&](uint32_t a, uint32_t b) {
    if (a == b) return;
    load.others[a].insert(b);
    load.others[b].insert(a);
  };
  for (const auto& run : plan.runs) {
    const auto& reducers = plan.reducers[run.column];
    for (uint32_t i = 0; i < members; ++i) talk(i, reducers[plan.group_of[i]]);
    for (const uint32_t one : reducers) load.reduced[one] += run.part.count;
    for (const auto& piece : run.pieces) {
      load.topped[reducers[piece.top]] += piece.part.count;
      for (const uint32_t one : reducers) talk(one, reducers[piece.top]);
    }
  }
  return load;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(TwoLevelPlanTest)

BOOST_AUTO_TEST_CASE(groups_are_about_as_many_as_they_have_members) {
  for (const auto& [members, groups] : std::vector<std::pair<size_t, size_t>>{
           {1, 1}, {2, 1}, {3, 2}, {6, 2}, {7, 3}, {16, 4}, {17, 4}, {20, 4}, {21, 5}, {400, 20}})
    BOOST_TEST(plan_groups(std::vector<uint32_t>(members, 1)).size() == groups, members);
}

BOOST_AUTO_TEST_CASE(everybody_is_in_one_group_and_groups_are_alike) {
  const bool holds = rc::check([] {
    const auto weights = any_weights(*rc::gen::element(2u, 4u, 70'000u) % 65'536);
    const Groups groups = plan_groups(weights);
    std::vector<int> seen(weights.size(), 0);
    size_t least = weights.size(), most = 0;
    for (const auto& group : groups) {
      RC_ASSERT(std::is_sorted(group.begin(), group.end()));
      for (const uint32_t member : group) ++seen.at(member);
      least = std::min(least, group.size());
      most = std::max(most, group.size());
    }
    RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    RC_ASSERT(most - least <= 1u);
    const bool any = weight_of(groups[0], weights) > 0;
    const uint32_t heaviest = *std::max_element(weights.begin(), weights.end());
    for (const auto& group : groups) {
      RC_ASSERT((weight_of(group, weights) > 0) == any);
      RC_ASSERT(weight_of(groups[0], weights) <= weight_of(group, weights) + 2ull * heaviest);
    }
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(of_few_with_a_weight_each_group_has_one) {
  std::vector<uint32_t> weights(20, 0);
  weights[3] = weights[4] = weights[11] = 7;
  const Groups groups = plan_groups(weights);
  BOOST_TEST(groups.size() == 3u);
  for (const auto& group : groups) BOOST_TEST(weight_of(group, weights) == 7u);
}

BOOST_AUTO_TEST_CASE(runs_and_pieces_cover_the_vector_once_within_their_bounds) {
  const bool holds = rc::check([] {
    const auto weights = any_weights(*rc::gen::element(2u, 30u, 65'536u));
    const auto n = *rc::gen::inRange<uint64_t>(1, 50'000);
    const auto min_part = *rc::gen::element<uint64_t>(1, 7, 64, 4'096);
    const auto chunk = *rc::gen::element<uint64_t>(16, 100, 4'096, 65'536);
    const auto round = *rc::gen::arbitrary<uint64_t>();
    const auto plan = plan_two_levels(n, weights, min_part, chunk, round);
    std::vector<Part> runs;
    for (const auto& run : plan.runs) {
      RC_ASSERT(run.part.count > 0u && run.part.count <= chunk);
      uint64_t next = run.part.first;
      for (const auto& piece : run.pieces) {
        RC_ASSERT(piece.part.first == next && piece.part.count > 0u);
        RC_ASSERT(piece.top < plan.groups.size());
        next += piece.part.count;
      }
      RC_ASSERT(next == run.part.first + run.part.count);
      runs.push_back(run.part);
    }
    std::sort(runs.begin(), runs.end(),
              [](const Part& a, const Part& b) { return a.first < b.first; });
    uint64_t next = 0;
    for (const Part& part : runs) {
      RC_ASSERT(part.first == next);
      next += part.count;
    }
    RC_ASSERT(next == n);
    const bool any = weight_of(plan.groups[0], weights) > 0;
    for (const auto& reducers : plan.reducers)
      for (uint32_t g = 0; g < plan.groups.size(); ++g) {
        RC_ASSERT(plan.group_of[reducers[g]] == g);
        RC_ASSERT(!any || weights[reducers[g]] > 0);  // who has no weight reduces nothing
      }
    RC_ASSERT(plan.reducers.size() <= std::max<uint64_t>(1, n / min_part));
  });
  BOOST_TEST(holds);
}

// The earliest run that is not done needs nothing but what is sent first.
BOOST_AUTO_TEST_CASE(runs_of_a_column_are_sent_in_order_and_all_columns_in_turns) {
  const auto plan = plan_two_levels(100'000, std::vector<uint32_t>(20, 1), 1, 100, 3);
  const size_t columns = plan.reducers.size();
  std::vector<uint64_t> last(columns, 0);
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const auto& run = plan.runs[i];
    BOOST_TEST(run.part.first >= last[run.column]);
    last[run.column] = run.part.first;
    if (i < columns) BOOST_TEST(run.column == i);
  }
}

BOOST_AUTO_TEST_CASE(with_equal_links_all_reduce_and_top_alike_and_talk_to_few) {
  for (const size_t members : {17, 25, 48, 50, 100, 400}) {
    const auto load =
        load_of(plan_two_levels(10'000'000, std::vector<uint32_t>(members, 1), 4'096, 65'536, 7));
    const double root = std::sqrt(static_cast<double>(members));
    size_t talks = 0;
    for (size_t i = 0; i < members; ++i) {
      talks += load.others[i].size();
      BOOST_TEST(static_cast<double>(load.others[i].size()) < 3.2 * root, members);
      BOOST_TEST(static_cast<double>(load.reduced[i]) < 1.4e7 / root, members);
      BOOST_TEST(static_cast<double>(load.topped[i]) < 1.4e7 / static_cast<double>(members),
                 members);
    }
    BOOST_TEST(static_cast<double>(talks) / static_cast<double>(members) < 2.7 * root, members);
  }
}

BOOST_AUTO_TEST_CASE(of_a_short_vector_others_reduce_and_top_in_every_round) {
  std::vector<uint64_t> reduced(20, 0), topped(20, 0);
  std::set<uint32_t> others;
  for (uint64_t round = 0; round < 60; ++round) {
    const auto load = load_of(plan_two_levels(40, std::vector<uint32_t>(20, 1), 8, 65'536, round));
    for (size_t i = 0; i < 20; ++i) {
      reduced[i] += load.reduced[i];
      topped[i] += load.topped[i];
    }
    others.insert(load.others[0].begin(), load.others[0].end());
  }
  for (size_t i = 0; i < 20; ++i) {
    BOOST_TEST(reduced[i] == 480u);  // 60 rounds of 40 elements in 4 groups of 5
    BOOST_TEST(topped[i] > 0u);
  }
  BOOST_TEST(others.size() == 7u);  // 4 in the group, and one in each of the others
}

BOOST_AUTO_TEST_CASE(a_slow_link_gets_a_small_part_or_none) {
  std::vector<uint32_t> weights(20, 100);
  weights[5] = 10;
  weights[6] = 0;
  const auto load = load_of(plan_two_levels(1'000'000, weights, 64, 4'096, 1));
  BOOST_TEST(load.reduced[6] == 0u);
  BOOST_TEST(load.topped[6] == 0u);
  BOOST_TEST(load.reduced[5] < 30'000u);
  BOOST_TEST(load.reduced[5] > 20'000u);
  BOOST_TEST(load.reduced[7] > 150'000u);
}

BOOST_AUTO_TEST_SUITE_END()
