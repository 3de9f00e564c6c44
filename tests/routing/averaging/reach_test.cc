#include "routing/averaging/reach.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;
using swarm::testing::peer;

namespace {

constexpr Time kStart = 1'000s;

std::vector<Reach::Member> members(uint32_t count) {
  std::vector<Reach::Member> all;
  for (uint32_t n = 1; n <= count; ++n) all.push_back({peer(n), 4});
  return all;
}

/// As rounds tell it that fail for kCertain.
Time part(Reach& reach, uint32_t a, uint32_t b, Time from = kStart) {
  for (Time now = from; now <= from + Reach::kCertain; now += 500ms)
    reach.unreached(peer(a), peer(b), now);
  return from + Reach::kCertain;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ReachOfPeers)

BOOST_AUTO_TEST_CASE(a_short_loss_of_a_link_changes_nothing) {
  Reach reach;
  for (Time now = kStart; now < kStart + 3'900ms; now += 100ms)
    reach.unreached(peer(1), peer(2), now);
  BOOST_TEST(!reach.parted(peer(1), peer(2), kStart + 3'900ms));
  BOOST_TEST(reach.plan(members(2), kStart + 3'900ms).aside.empty());
}

BOOST_AUTO_TEST_CASE(losses_with_a_round_done_between_have_nothing_to_do_with_one_another) {
  Reach reach;
  for (int i = 0; i < 10; ++i) {
    reach.unreached(peer(1), peer(2), kStart + i * 31s);
    reach.reached({peer(1), peer(2)}, {});
  }
  BOOST_TEST(!reach.parted(peer(1), peer(2), kStart + 280s));
}

// Asynchronous rounds are minutes apart.
BOOST_AUTO_TEST_CASE(a_pair_that_fails_in_rare_rounds_is_parted_and_does_not_fail_every_round) {
  Reach reach;
  int failed = 0;
  for (int round = 0; round < 32; ++round) {
    const Time now = kStart + round * 15min;
    const auto relays = reach.plan(members(3), now).relays;
    failed += relays.empty() ? 1 : 0;
    if (relays.empty())
      reach.unreached(peer(1), peer(2), now);
    else
      reach.reached({peer(1), peer(2), peer(3)}, relays);
  }
  BOOST_TEST(failed == 6);  // two to know it, then after 0, 1, 3, 7 rounds, and 15
}

BOOST_AUTO_TEST_CASE(pairs_of_peers_that_are_gone_are_forgotten) {
  Reach reach;
  const Time now = part(reach, 1, 2);
  reach.keep([](const PeerId&) { return true; });
  BOOST_TEST(reach.parted(peer(1), peer(2), now));
  reach.keep([](const PeerId& id) { return id != peer(2); });
  BOOST_TEST(!reach.parted(peer(1), peer(2), now));
}

BOOST_AUTO_TEST_CASE(a_round_that_must_not_fail_keeps_the_relay_of_a_pair_that_is_due) {
  Reach reach;
  const Time due = part(reach, 1, 2) + Reach::kRetry;
  BOOST_TEST(reach.retry_due({peer(1), peer(2), peer(3)}, due));
  BOOST_TEST(!reach.retry_due({peer(1), peer(3)}, due));
  BOOST_TEST(!reach.retry_due({peer(1), peer(2)}, due - 1s));
  BOOST_TEST(reach.plan(members(3), due).relays.empty());
  BOOST_TEST(reach.plan(members(3), due, /*retry=*/false).relays.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_round_that_is_done_clears_the_suspicion) {
  Reach reach;
  reach.unreached(peer(1), peer(2), kStart);
  reach.reached({peer(1), peer(2)}, {});
  reach.unreached(peer(2), peer(1), kStart + 5s);
  BOOST_TEST(!reach.parted(peer(1), peer(2), kStart + 5s));
}

/// In a large stage that a round is done does not say that two of it had anything to say to each other.
BOOST_AUTO_TEST_CASE(
    in_a_large_stage_a_suspicion_outlives_rounds_in_which_the_two_may_not_have_met) {
  std::vector<PeerId> many;
  for (uint32_t n = 1; n <= 17; ++n) many.push_back(peer(n));
  Reach reach;
  reach.unreached(peer(1), peer(2), kStart);
  for (int i = 1; i < Reach::kRoundsToMeet; ++i) reach.reached(many, {});
  reach.unreached(peer(2), peer(1), kStart + 5s);
  BOOST_TEST(reach.parted(peer(1), peer(2), kStart + 5s));
  const Time due = kStart + 5s + Reach::kRetry;
  BOOST_TEST(reach.retry_due(many, due));
  reach.reached(many, {});
  BOOST_TEST(!reach.retry_due(many, due));  // tried, as far as is known
  reach.unreached(peer(1), peer(2), due + 1s);
  BOOST_TEST(reach.parted(peer(1), peer(2), due + 1s));
  for (int i = 0; i < Reach::kRoundsToMeet; ++i) reach.reached(many, {});
  reach.unreached(peer(1), peer(2), due + 2min);
  BOOST_TEST(!reach.parted(peer(1), peer(2), due + 2min));
}

BOOST_AUTO_TEST_CASE(a_third_member_relays_between_two_that_cannot_reach_each_other) {
  Reach reach;
  const Time now = part(reach, 3, 1);
  const auto plan = reach.plan(members(3), now);
  BOOST_TEST(plan.aside.empty());
  BOOST_REQUIRE(plan.relays.size() == 1u);
  BOOST_TEST((plan.relays[0] == Relay{0, 2, 1}));
}

BOOST_AUTO_TEST_CASE(without_a_third_one_the_one_that_holds_less_is_set_aside) {
  Reach reach;
  const Time now = part(reach, 1, 2);
  auto two = members(2);
  two[0].slots = 3;
  auto plan = reach.plan(two, now);
  BOOST_REQUIRE(plan.aside.size() == 1u);
  BOOST_TEST((plan.aside[0].peer == peer(1)));
  BOOST_TEST((plan.aside[0].from == peer(2)));
  BOOST_TEST((plan.aside[0].retry_in == Reach::kRetry));
  two[1].slots = 2;
  BOOST_TEST((reach.plan(two, now).aside.at(0).peer == peer(2)));
}

BOOST_AUTO_TEST_CASE(of_two_sides_that_do_not_reach_each_other_the_smaller_is_set_aside) {
  Reach reach;
  Time now = kStart;
  for (uint32_t a : {1u, 4u})
    for (uint32_t b : {2u, 3u, 5u}) now = std::max(now, part(reach, a, b));
  const auto plan = reach.plan(members(5), now);
  std::set<PeerId> aside;
  for (const auto& one : plan.aside) aside.insert(one.peer);
  BOOST_TEST((aside == std::set<PeerId>{peer(1), peer(4)}));
}

BOOST_AUTO_TEST_CASE(relays_are_shared_out) {
  Reach reach;
  part(reach, 1, 2);
  const Time now = part(reach, 3, 4);
  std::set<uint32_t> via;
  for (const auto& relay : reach.plan(members(6), now).relays) via.insert(relay.via);
  BOOST_TEST(via.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_pair_is_tried_again_after_a_minute_and_then_after_twice_as_long) {
  Reach reach;
  Time now = part(reach, 1, 2);
  BOOST_TEST(reach.parted(peer(1), peer(2), now + 59s));
  BOOST_TEST(!reach.parted(peer(1), peer(2), now + 60s));
  now += 61s;
  reach.unreached(peer(1), peer(2), now);  // once is enough: it is known
  reach.reached({peer(1)}, {});            // it goes on without
  BOOST_TEST(reach.parted(peer(1), peer(2), now + 119s));
  BOOST_TEST(!reach.parted(peer(1), peer(2), now + 120s));
  for (int times = 0; times < 20; ++times) {
    now += Reach::kLongestRetry;
    reach.unreached(peer(1), peer(2), now);
    for (int i = 0; i < Reach::kMostRounds; ++i) reach.reached({peer(1)}, {});
  }
  BOOST_TEST(!reach.parted(peer(1), peer(2), now + Reach::kLongestRetry));
  reach.reached({peer(1), peer(2)}, {});
  reach.unreached(peer(1), peer(2), now + 11min);
  BOOST_TEST(!reach.parted(peer(1), peer(2), now + 11min));
}

BOOST_AUTO_TEST_CASE(a_round_over_a_relay_says_nothing_of_the_pair) {
  Reach reach;
  const Time now = part(reach, 1, 3);
  reach.reached({peer(1), peer(2), peer(3)}, reach.plan(members(3), now).relays);
  BOOST_TEST(reach.parted(peer(1), peer(3), now));
}

/// Whatever the gaps: those who stay reach one another directly or over one of them, nobody goes
/// who misses nobody, and a relay stands only between two that need it.
BOOST_AUTO_TEST_CASE(whoever_stays_reaches_all_others_that_stay) {
  BOOST_TEST(rc::check([] {
    const auto count = *rc::gen::inRange<uint32_t>(1, 9);
    Reach reach;
    std::set<std::pair<uint32_t, uint32_t>> gaps;
    for (uint32_t a = 0; a < count; ++a)
      for (uint32_t b = a + 1; b < count; ++b) {
        if (*rc::gen::inRange(0, 3) != 0) continue;
        part(reach, a + 1, b + 1);
        gaps.insert({a, b});
      }
    const Time now = kStart + Reach::kCertain;
    auto stay = members(count);
    const auto plan = reach.plan(stay, now);
    std::set<PeerId> aside;
    for (const auto& one : plan.aside) {
      RC_ASSERT(aside.insert(one.peer).second);
      RC_ASSERT(reach.parted(one.peer, one.from, now));
    }
    RC_ASSERT(aside.size() < count);
    RC_ASSERT(plan.aside.empty() || plan.relays.empty());
    stay.erase(std::remove_if(stay.begin(), stay.end(),
                              [&](const auto& one) { return aside.count(one.peer) != 0; }),
               stay.end());
    const auto rest = reach.plan(stay, now);
    RC_ASSERT(rest.aside.empty());
    std::set<std::pair<uint32_t, uint32_t>> relayed;
    for (const auto& relay : rest.relays) {
      const auto& [a, b, via] = relay;
      RC_ASSERT(reach.parted(stay.at(a).peer, stay.at(b).peer, now));
      RC_ASSERT(via != a && via != b);
      RC_ASSERT(!reach.parted(stay.at(a).peer, stay.at(via).peer, now));
      RC_ASSERT(!reach.parted(stay.at(b).peer, stay.at(via).peer, now));
      RC_ASSERT(relayed.insert({a, b}).second);
    }
    for (uint32_t a = 0; a < stay.size(); ++a)
      for (uint32_t b = a + 1; b < stay.size(); ++b)
        RC_ASSERT(reach.parted(stay[a].peer, stay[b].peer, now) == (relayed.count({a, b}) != 0));
    RC_ASSERT(!gaps.empty() || (plan.aside.empty() && plan.relays.empty()));
  }));
}

BOOST_AUTO_TEST_SUITE_END()
