// Synchronous steps where members of a round do not reach each other.
#include <boost/test/unit_test.hpp>

#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using World = ScheduleWorld<SyncSchedule>;

/// Rounds of stage 0 in which the first two members do not reach each other, until it is known. The
/// last round's orders.
Orders fail_until_known(World& world, Orders orders) {
  for (int tries = 0; tries < 100; ++tries) {
    const auto closes = all_of<orders::CloseStep>(orders);
    const bool other = !noted<facts::SetAside>(orders).empty() ||
                       (!closes.empty() && !closes.back().relays.empty());
    if (other) return orders;
    if (!closes.empty()) world.close_unreached(closes.back(), 0, 1);
    orders = world.tick();
  }
  return orders;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SyncScheduleReach)

BOOST_AUTO_TEST_CASE(rounds_of_two_that_cannot_reach_each_other_are_tried_now_and_then_only) {
  World world;
  world.open(0);
  Orders orders;
  World::append(orders, {orders::CloseStep{close_of(world.carry_all(), 0)}});
  size_t rounds = 0;
  for (int tick = 0; tick < 30; ++tick) {  // 3 s
    for (const auto& close : all_of<orders::CloseStep>(orders)) {
      if (close.stage != Stage(0)) continue;
      ++rounds;
      world.close_unreached(close, 0, 1);
    }
    orders = world.tick();
    BOOST_TEST(noted<facts::SetAside>(orders).empty());
  }
  BOOST_TEST(rounds >= 5u);
  BOOST_TEST(rounds <= 11u);
}

// A third one hangs, and all wait for it: they must not part.
BOOST_AUTO_TEST_CASE(members_from_whom_nothing_came_in_time_are_not_parted) {
  World world;
  world.open(0);
  Orders orders;
  World::append(orders, {orders::CloseStep{close_of(world.carry_all(), 0)}});
  for (int tick = 0; tick < 100; ++tick) {  // 10 s
    for (const auto& close : all_of<orders::CloseStep>(orders)) {
      BOOST_TEST(close.relays.empty());
      if (close.stage == Stage(0)) world.close_unreached(close, 0, 1, /*link=*/false);
    }
    orders = world.tick();
    BOOST_TEST(noted<facts::SetAside>(orders).empty());
  }
}

BOOST_AUTO_TEST_CASE(of_two_that_cannot_reach_each_other_one_is_set_aside_and_the_step_goes_on) {
  World world;
  world.open(0);
  Orders first;
  World::append(first, {orders::CloseStep{close_of(world.carry_all(), 0)}});
  const auto known = fail_until_known(world, first);
  const auto aside = noted<facts::SetAside>(known);
  BOOST_REQUIRE(aside.size() == 1u);
  BOOST_TEST(aside[0].peer == peer(2));  // it holds nothing; 1 holds all
  BOOST_TEST(aside[0].from == peer(1));
  BOOST_TEST(!world.facts(2).serving);
  BOOST_TEST(world.roster.newcomers(Step(0)).empty());
  const auto close = close_of(world.tick(), 0);
  BOOST_REQUIRE(close.members.size() == 1u);
  BOOST_TEST(close.members[0].slots.size() == 4u);

  Orders orders;
  auto verdict = world.schedule.admit(peer(2), orders, world.now);
  BOOST_TEST((verdict.kind == Verdict::Kind::kWait));
  BOOST_TEST(!verdict.reason.empty());
  world.now += Reach::kRetry;  // it is tried again
  verdict = world.schedule.admit(peer(2), orders, world.now);
  BOOST_TEST((verdict.kind == Verdict::Kind::kServe));
}

BOOST_AUTO_TEST_CASE(who_is_set_aside_comes_back_when_the_other_one_is_lost) {
  World world;
  world.open(0);
  Orders first;
  World::append(first, {orders::CloseStep{close_of(world.carry_all(), 0)}});
  fail_until_known(world, first);
  world.add(9).stage = Stage(0);  // so that nobody gathers
  world.lose(1);
  Orders orders;
  BOOST_TEST((world.schedule.admit(peer(2), orders, world.now).kind == Verdict::Kind::kServe));
}

BOOST_AUTO_TEST_CASE(a_third_member_relays_between_two_that_cannot_reach_each_other) {
  World world;
  world.add(9).stage = Stage(0);
  world.open(0);
  Orders first;
  World::append(first, {orders::CloseStep{close_of(world.carry_all(), 0)}});
  const auto known = fail_until_known(world, first);
  BOOST_TEST(noted<facts::SetAside>(known).empty());
  BOOST_TEST(noted<facts::PartsRelayed>(known).size() == 1u);
  const auto close = close_of(known, 0);
  BOOST_TEST(close.members.size() == 3u);
  BOOST_REQUIRE(close.relays.size() == 1u);
  BOOST_TEST((close.relays[0] == Relay{0, 1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
