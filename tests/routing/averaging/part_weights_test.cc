#include "routing/averaging/part_weights.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using Weights = std::vector<uint32_t>;

namespace {

PeerId peer(uint32_t number) { return {testing::node(number), "stage.0"}; }

std::vector<PeerId> peers(uint32_t count) {
  std::vector<PeerId> all;
  for (uint32_t i = 0; i < count; ++i) all.push_back(peer(i));
  return all;
}

/// What every member sends and receives in a round over a vector of one, counted element by element of
/// `grid`: each part has `weights[i]` of them.
double counted_seconds(const std::vector<MemberLink>& links, const Weights& weights) {
  const size_t members = links.size();
  const double grid = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> sent(members, 0), received(members, 0);
  for (size_t reducer = 0; reducer < members; ++reducer)
    for (uint32_t element = 0; element < weights[reducer]; ++element)
      for (size_t other = 0; other < members; ++other) {
        if (other == reducer) continue;
        if (links[other].contributes) {  // its number, there
          sent[other] += 1 / grid;
          received[reducer] += 1 / grid;
        }
        sent[reducer] += 1 / grid;  // the mean, back
        received[other] += 1 / grid;
      }
  double slowest = 0;
  for (size_t i = 0; i < members; ++i)
    slowest = std::max({slowest, sent[i] / links[i].up, received[i] / links[i].down});
  return slowest;
}

/// The shortest round of all divisions into `grid` pieces of which nobody has more than `most`.
double brute_force(const std::vector<MemberLink>& links, uint32_t grid, uint32_t most) {
  double best = std::numeric_limits<double>::infinity();
  Weights weights(links.size(), 0);
  const std::function<void(size_t, uint32_t)> divide = [&](size_t member, uint32_t left) {
    if (member + 1 == links.size()) {
      if (left > most) return;
      weights[member] = left;
      best = std::min(best, counted_seconds(links, weights));
      return;
    }
    for (uint32_t part = 0; part <= std::min(left, most); ++part) {
      weights[member] = part;
      divide(member + 1, left - part);
    }
  };
  divide(0, grid);
  return best;
}

double worth(const std::vector<MemberLink>& links, const Weights& weights) {
  return round_seconds(links, weights, 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(PartWeightsTest)

BOOST_AUTO_TEST_CASE(equal_links_and_unknown_ones_get_equal_parts) {
  BOOST_TEST(best_weights(std::vector<MemberLink>(4)) == Weights(4, 1),
             boost::test_tools::per_element());
  BOOST_TEST(best_weights(std::vector<MemberLink>(3, {5e6, 1e6})) == Weights(3, 1),
             boost::test_tools::per_element());
  BOOST_TEST(best_weights({}).empty());
}

BOOST_AUTO_TEST_CASE(of_four_one_with_a_tenth_of_the_link_reduces_nothing) {
  const std::vector<MemberLink> links{{1e7, 1e7}, {1e7, 1e7}, {1e6, 1e6}, {1e7, 1e7}};
  const Weights weights = best_weights(links);
  BOOST_TEST(weights[2] == 0u);
  BOOST_TEST(weights[0] == kAllParts / 3);
  // It moves its own vector alone; with equal parts half a vector more.
  BOOST_TEST(worth(links, weights) == 1e-6, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(worth(links, {1, 1, 1, 1}) == 1.5e-6, boost::test_tools::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(both_directions_count) {
  const std::vector<MemberLink> up{{1e7, 1e7}, {1e7, 1e7}, {1e7, 1e7}, {4e6, 1e7}};
  const std::vector<MemberLink> down{{1e7, 1e7}, {1e7, 1e7}, {1e7, 1e7}, {1e7, 4e6}};
  BOOST_TEST(best_weights(up) == best_weights(down), boost::test_tools::per_element());
  BOOST_TEST(best_weights(up)[3] < best_weights(up)[0]);
}

BOOST_AUTO_TEST_CASE(one_without_numbers_has_its_uplink_free_to_reduce) {
  std::vector<MemberLink> links(4, {1e6, 1e7});
  links[1].contributes = false;
  const Weights weights = best_weights(links);
  BOOST_TEST(weights[1] > 2 * weights[0]);
  BOOST_TEST(worth(links, weights) < worth(links, {1, 1, 1, 1}));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_counts_as_the_median) {
  const std::vector<MemberLink> links{{8e6, 8e6}, {}, {8e6, 8e6}, {1e6, 1e6}};
  const Weights weights = best_weights(links);
  BOOST_TEST(weights[1] == weights[0]);
  BOOST_TEST(weights[3] == 0u);
}

BOOST_AUTO_TEST_CASE(of_two_the_slower_one_speaks_for_those_of_whom_nothing_is_known) {
  const std::vector<MemberLink> links{{1e12, 1e12}, {}, {8e6, 8e6}, {}};
  const Weights weights = best_weights(links);
  BOOST_TEST(weights[1] == weights[2]);
  BOOST_TEST(weights[3] == weights[2]);
}

BOOST_AUTO_TEST_CASE(the_time_of_a_round_is_that_of_the_slowest_direction) {
  bool holds = rc::check([] {
    const auto rate = [] { return *rc::gen::inRange(1, 100) * 1e5; };
    std::vector<MemberLink> links;
    Weights weights;
    const int members = *rc::gen::inRange(2, 7);
    for (int i = 0; i < members; ++i) {
      links.push_back({rate(), rate(), *rc::gen::arbitrary<bool>()});
      weights.push_back(*rc::gen::inRange<uint32_t>(0, 50));
    }
    weights.front() += 1;
    const double counted = counted_seconds(links, weights);
    RC_ASSERT(std::abs(worth(links, weights) - counted) <= 1e-9 * counted);
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(no_division_is_much_better_than_the_planned_one) {
  bool holds = rc::check([] {
    const auto rate = [] { return std::pow(10, *rc::gen::inRange(40, 80) / 10.0); };
    std::vector<MemberLink> links;
    const int members = *rc::gen::inRange(3, 5);
    for (int i = 0; i < members; ++i)
      links.push_back({rate(), rate(), *rc::gen::inRange(0, 4) > 0});
    links[0].contributes = links[1].contributes = true;
    const uint32_t grid = 24;
    const auto most = static_cast<uint32_t>(grid * std::min(1.0, kMostOfEqual / members));
    const double planned = worth(links, best_weights(links));
    // A part under a sixteenth of an equal one is dropped, and the others carry it.
    RC_ASSERT(planned <= 1.1 * brute_force(links, grid, most));
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(nobody_gets_more_than_a_bounded_share_whatever_is_told) {
  bool holds = rc::check([] {
    std::vector<MemberLink> links;
    const int members = *rc::gen::inRange(4, 20);
    for (int i = 0; i < members; ++i)
      links.push_back({*rc::gen::inRange(1, 100) * 1e5, *rc::gen::inRange(1, 100) * 1e5});
    links[0].up = links[0].down =
        *rc::gen::element(1e12, 1e13, 1e300, std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN(), -1.0, 0.0, 1e-300);
    const Weights weights = best_weights(links);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    RC_ASSERT(all > 0);
    RC_ASSERT(weights[0] / all <= kMostOfEqual / members * 1.15);
    for (const uint32_t weight : weights) RC_ASSERT(weight <= kAllParts);
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(rates_that_no_link_has_are_not_known) {
  BOOST_TEST(checked_rate(5e6) == 5e6);
  for (const double told : {0.0, -5.0, 0.5, 1e13, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()})
    BOOST_TEST(checked_rate(told) == 0);
}

BOOST_AUTO_TEST_CASE(weights_stay_while_rates_are_about_the_same) {
  PartWeights told;
  std::vector<MemberLink> links{{1e7, 1e7}, {1e7, 1e7}, {1e7, 1e7}, {3e6, 3e6}};
  const Weights before = told.next(peers(4), links);
  BOOST_TEST(before[3] < before[0]);
  for (const double now : {3.2e6, 2.8e6, 3.05e6}) {
    links[3] = {now, now};
    BOOST_TEST(told.next(peers(4), links) == before, boost::test_tools::per_element());
  }
  links[3] = {1e7, 1e7};  // its link is as the others' now
  BOOST_TEST(told.next(peers(4), links) == Weights(4, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_members_get_other_weights) {
  PartWeights told;
  std::vector<MemberLink> links{{1e7, 1e7}, {1e7, 1e7}, {1e7, 1e7}, {1e6, 1e6}};
  BOOST_TEST(told.next(peers(4), links)[3] == 0u);
  links.pop_back();
  BOOST_TEST(told.next(peers(3), links) == Weights(3, 1), boost::test_tools::per_element());
}

// One that had read while its link became better had next to no part, and could not show it.
BOOST_AUTO_TEST_CASE(who_comes_back_shows_its_links_anew) {
  PartWeights told;
  std::vector<MemberLink> links{{1e7, 1e7}, {1e7, 1e7}, {1e7, 1e7}};
  told.next(peers(3), links);
  links.push_back({1e6, 1e6});
  BOOST_TEST(told.next(peers(4), links)[3] > 0u);
  BOOST_TEST(told.next(peers(4), links)[3] == 0u);  // nothing better was seen
}

namespace {

/// What a round over links `real` shows of them: nobody is seen faster than the slowest lets it be, and what
/// was faster within the last rounds counts.
std::vector<MemberLink> seen(const std::vector<MemberLink>& real, const Weights& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double took_s = round_seconds(real, weights, 1), m = static_cast<double>(real.size());
  std::vector<MemberLink> rates;
  for (size_t i = 0; i < real.size(); ++i) {
    const double moved = 1 + (m - 2) * weights[i] / all;
    rates.push_back({std::min(real[i].up, moved / took_s), std::min(real[i].down, moved / took_s)});
  }
  return rates;
}

double settled_s(const std::vector<MemberLink>& real, std::vector<MemberLink> believed,
                 int rounds) {
  PartWeights told;
  double took_s = 0;
  for (int i = 0; i < rounds; ++i) {
    const Weights weights = told.next(peers(static_cast<int>(real.size())), believed);
    believed = seen(real, weights);
    took_s += round_seconds(real, weights, 1);
  }
  return took_s / rounds;
}

}  // namespace

// Who reduced all had the only link that was seen at work; the others' looked half as fast, for ever.
BOOST_AUTO_TEST_CASE(parts_that_made_links_look_slow_are_tried_anew) {
  const std::vector<MemberLink> real(3, {1e6, 1e6});
  const double least = round_seconds(real, Weights(3, 1), 1);
  BOOST_TEST(settled_s(real, {{1e6, 1e6}, {0.53e6, 0.9e6}, {0.54e6, 0.54e6}}, 100) < 1.05 * least);
}

BOOST_AUTO_TEST_CASE(trials_cost_little_where_links_are_slow) {
  for (const double slow : {0.1e6, 0.3e6, 0.5e6, 0.7e6}) {
    const std::vector<MemberLink> real{{1e6, 1e6}, {1e6, 1e6}, {1e6, 1e6}, {slow, slow}};
    const double least = round_seconds(real, best_weights(real), 1);
    BOOST_TEST(settled_s(real, real, 500) < 1.03 * least, slow);
  }
}

BOOST_AUTO_TEST_SUITE_END()
