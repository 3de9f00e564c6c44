#include "routing/wiring/step_shares.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "common/mix.h"

using namespace swarm;
using namespace swarm::routing;

namespace {

constexpr uint32_t kSlots = 64;

StepShares dealt(const std::vector<double>& costs_s, uint32_t slots = kSlots, uint32_t stage = 1,
                 uint64_t step = 7) {
  StepShares shares;
  shares.deal(costs_s, slots, stage, step);
  return shares;
}

std::vector<uint32_t> slots_of(const StepShares& shares, size_t place, uint32_t slots = kSlots) {
  std::vector<uint32_t> found;
  for (uint32_t slot = 0; slot < slots; ++slot)
    if (shares.place(slot) == place) found.push_back(slot);
  return found;
}

/// So many senders, each of which sees costs that are up to half of `spread` off.
std::vector<StepShares> senders_of(size_t count, const std::vector<double>& costs_s, double spread,
                                   uint64_t step, SplitMix64& random) {
  std::vector<StepShares> senders(count);
  for (StepShares& sender : senders) {
    auto seen_s = costs_s;
    for (double& cost_s : seen_s) cost_s *= 1 + spread * (random.uniform() - 0.5);
    sender.deal(seen_s, kSlots, 1, step);
  }
  return senders;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StepSharesTest)

BOOST_AUTO_TEST_CASE(all_peers_are_done_at_about_once) {
  const std::vector<double> costs_s{0.4, 0.1, 0.4, 0.1};
  const StepShares shares = dealt(costs_s);
  uint32_t sum = 0;
  for (size_t place = 0; place < costs_s.size(); ++place) {
    BOOST_TEST(slots_of(shares, place).size() == shares.slots_of(place));
    sum += shares.slots_of(place);
    BOOST_TEST(shares.slots_of(place) * costs_s[place] >= shares.takes_s() - costs_s[place]);
  }
  BOOST_TEST(sum == kSlots);
  BOOST_TEST(shares.slots_of(0) == 6u);
  BOOST_TEST(shares.slots_of(1) == 26u);
  // No more than a turn of the quickest above what would do if microbatches could be cut.
  BOOST_TEST(shares.takes_s() <= kSlots / 25.0 + 0.1);
}

BOOST_AUTO_TEST_CASE(who_would_hold_up_the_step_with_one_gets_none) {
  const StepShares shares = dealt({0.1, 5, 0.1});
  BOOST_TEST(shares.slots_of(1) == 0u);
  BOOST_TEST(slots_of(shares, 1).empty());
}

BOOST_AUTO_TEST_CASE(in_doubt_a_slow_peer_has_less) {
  // It takes 1.22 s, and was seen to take 4 % less: a fourteenth would end 0.8 s after the others' last.
  BOOST_TEST(dealt({0.3195, 1.17}).slots_of(1) == 13u);
}

BOOST_AUTO_TEST_CASE(who_can_do_one_in_a_step_gets_one) {
  // Else its cost would stay what one bad moment made of it.
  BOOST_TEST(dealt({0.1, 4.7}).slots_of(1) == 1u);
  BOOST_TEST(dealt({0.1, 6.0}).slots_of(1) == 1u);
  BOOST_TEST(dealt({0.1, 6.8}).slots_of(1) == 0u);
}

BOOST_AUTO_TEST_CASE(who_is_slow_has_its_slots_evenly_and_none_at_the_end) {
  for (uint64_t step = 0; step < 50; ++step) {
    const auto slow = slots_of(dealt({0.4, 0.1, 0.1, 0.1}, kSlots, 2, step), 0);
    BOOST_TEST_REQUIRE(slow.size() >= 4u);
    BOOST_TEST(slow.back() < kSlots - 2);
    for (size_t i = 1; i < slow.size(); ++i) BOOST_TEST(slow[i] - slow[i - 1] >= 4u);
  }
}

// Each sender has some of the slots; none knows of the others.
BOOST_AUTO_TEST_CASE(senders_that_see_other_costs_by_a_little_give_each_peer_its_part_together) {
  const std::vector<double> costs_s{0.4, 0.1, 0.1, 0.4, 0.1};
  const StepShares exact = dealt(costs_s);
  SplitMix64 random(1);
  for (uint64_t step = 0; step < 100; ++step) {
    const auto senders = senders_of(4, costs_s, 0.02, step, random);
    std::vector<int> given(costs_s.size());
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      ++given[senders[random.next() % senders.size()].place(slot)];
    // By lot, a slow peer would have 2.2 more or less than its 5 in the mean, and 10 once in a while.
    BOOST_TEST(std::abs(given[0] - static_cast<int>(exact.slots_of(0))) <= 3);
    BOOST_TEST(std::abs(given[3] - static_cast<int>(exact.slots_of(3))) <= 3);
  }
}

// What a slow link carries is measured within a tenth or so. Two senders that dealt 12 and 13 slots had given
// the peer 16 together: each had other slots in mind.
BOOST_AUTO_TEST_CASE(senders_that_see_other_costs_by_a_tenth_mean_mostly_the_same_peers) {
  SplitMix64 random(3);
  for (const std::vector<double>& costs_s : {std::vector<double>{1.2, 0.3},
                                             {0.3, 1.2},
                                             {0.1, 0.1},
                                             {0.1, 0.4, 0.1, 0.1},
                                             {0.4, 0.1, 0.4, 0.1}}) {
    for (uint64_t step = 0; step < 100; ++step) {
      const auto senders = senders_of(2, costs_s, 0.2, step, random);
      std::vector<int> given(costs_s.size());
      for (uint32_t slot = 0; slot < kSlots; ++slot) ++given[senders[slot % 2].place(slot)];
      for (size_t place = 0; place < costs_s.size(); ++place) {
        const auto a = static_cast<int>(senders[0].slots_of(place));
        const auto b = static_cast<int>(senders[1].slots_of(place));
        BOOST_TEST(given[place] >= std::min(a, b) - 3);
        BOOST_TEST(given[place] <= std::max(a, b) + (costs_s[place] > 0.3 ? 1 : 3));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(steps_and_stages_turn_the_order) {
  const std::vector<double> costs_s{0.4, 0.1, 0.1, 0.1};
  std::set<uint32_t> slots;
  for (uint64_t step = 0; step < 40; ++step)
    for (uint32_t slot : slots_of(dealt(costs_s, kSlots, 1, step), 0)) slots.insert(slot);
  BOOST_TEST(slots.size() > 32u);  // whoever sends a slot meets the slow peer one day
  BOOST_TEST(
      (slots_of(dealt(costs_s, kSlots, 1, 3), 0) != slots_of(dealt(costs_s, kSlots, 2, 3), 0)));
}

BOOST_AUTO_TEST_CASE(with_fewer_slots_than_peers_each_has_its_turn) {
  const std::vector<double> costs_s(8, 0.1);
  std::vector<int> given(costs_s.size());
  for (uint64_t step = 0; step < 80; ++step)
    for (uint32_t slot = 0; slot < 4; ++slot) ++given[dealt(costs_s, 4, 0, step).place(slot)];
  BOOST_TEST(*std::min_element(given.begin(), given.end()) >= 30);
}

// What numbers may come: the deal is made of what peers tell.
BOOST_AUTO_TEST_CASE(any_costs_are_dealt_out) {
  SplitMix64 random(2);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> costs_s(1 + random.next() % 32);
    for (double& cost_s : costs_s) cost_s = std::exp(40 * (random.uniform() - 0.5));
    const auto slots = static_cast<uint32_t>(1 + random.next() % 200);
    const StepShares shares = dealt(costs_s, slots, 3, random.next());
    uint32_t sum = 0;
    for (size_t place = 0; place < costs_s.size(); ++place) sum += shares.slots_of(place);
    BOOST_TEST(sum == slots);
    for (uint64_t slot = 0; slot < 2 * slots; ++slot)
      BOOST_TEST(shares.place(slot) < costs_s.size());
  }
}

BOOST_AUTO_TEST_SUITE_END()
