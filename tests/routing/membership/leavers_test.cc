#include "routing/membership/leavers.h"

#include <boost/test/unit_test.hpp>

#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using World = ScheduleWorld<SyncSchedule>;

constexpr bool kIdle = true;

EndAnswer ending(World& world, uint32_t n, const Leaver& leaver) {
  world.facts(n).leaves = true;
  return may_end(world.schedule, peer(n), world.facts(n), leaver, world.now);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(LeaversTest)

BOOST_AUTO_TEST_CASE(a_sum_stays_to_the_commit) {
  World world;
  world.open(0);
  const Orders closes = world.carry_all();
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
  const Orders commits = world.close_all(closes);
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
  world.commit_all(commits);
  BOOST_TEST(!ending(world, 1, {!kIdle}).go);  // it finishes what it has in hand
  const EndAnswer last = ending(world, 1, {kIdle});
  BOOST_TEST(last.go, last.reason);
  BOOST_TEST(last.finished);
}

BOOST_AUTO_TEST_CASE(who_has_taken_nothing_of_the_step_need_not_wait_for_it) {
  World world;
  world.open(0);
  BOOST_TEST(ending(world, 2, {kIdle}).go);
}

// Nobody would add what is missing of the step: as a run is stopped, all of its nodes are told to end.
BOOST_AUTO_TEST_CASE(where_all_of_a_stage_leave_nobody_waits) {
  World world;
  world.open(0);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 1, 1e9);
  world.carry(leases.step, leases.slots.at(0).lease);
  world.facts(3).leaves = true;
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
  world.facts(4).serving = false;
  const EndAnswer last = ending(world, 1, {kIdle});
  BOOST_TEST(last.go);
  BOOST_TEST(!last.finished);
  BOOST_TEST(last.reason == "nobody stays in stage 1");
}

BOOST_AUTO_TEST_CASE(a_gathering_keeps_it_for_a_while) {
  World world;
  BOOST_TEST(!ending(world, 1, {kIdle, 4s}).go);
  BOOST_TEST(ending(world, 1, {kIdle, 5s}).go);
  ending(world, 2, {kIdle});
  BOOST_TEST(ending(world, 1, {kIdle}).go);  // nobody is left of its stage
}

BOOST_AUTO_TEST_CASE(who_does_not_serve_and_who_has_trained_all_goes) {
  World world;
  world.open(0);
  world.facts(2).serving = false;
  BOOST_TEST(ending(world, 2, {!kIdle}).go);
  World over;
  over.all_at(10);
  over.open(10);
  BOOST_TEST(ending(over, 2, {!kIdle}).go);
}

// A step that has just begun waits for its pipeline to fill: its rate says nothing yet, and one answer that is
// too long sends a peer away for good.
BOOST_AUTO_TEST_CASE(from_a_quarter_of_the_step_on_it_is_told_how_long_the_rest_takes) {
  World world;
  world.open(0);
  BOOST_TEST((ending(world, 1, {!kIdle}).remaining == Time()));
  const auto leases = world.schedule.lease(peer(50, "trainer"), 2, 1e9);
  world.now += 3s;
  const auto slots = world.schedule.frame().options.slots;
  BOOST_REQUIRE(slots == 4u);
  world.carry(leases.step, leases.slots.at(0).lease);
  BOOST_TEST((ending(world, 1, {!kIdle}).remaining == 9s));
}

BOOST_AUTO_TEST_CASE(a_step_that_is_full_is_closed_whoever_leaves) {
  World world;
  world.open(0);
  const Orders closes = world.carry_all();
  for (uint32_t n : {2u, 3u, 4u}) world.facts(n).leaves = true;
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
  const Orders commits = world.close_all(closes);
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
  world.commit_all(commits);
  BOOST_TEST(ending(world, 1, {kIdle}).go);
}

BOOST_AUTO_TEST_CASE(
    where_nobody_trains_it_waits_no_longer_than_trainers_need_to_announce_themselves) {
  World world;
  world.roster.add_trainer(peer(50, "trainer"));
  world.open(0);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 1, 1e9);
  world.carry(leases.step, leases.slots.at(0).lease);
  world.now += 5s;
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
  world.roster.remove_trainer(peer(50, "trainer"));
  BOOST_TEST(ending(world, 1, {kIdle}).reason == "nobody trains");
  world.now -= 1s;
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
}

// The others were still writing theirs; the stage was missing then, and the end was undone.
BOOST_AUTO_TEST_CASE(the_last_of_a_stage_stays_until_the_end_is_durable) {
  World world;
  world.all_at(9);
  world.open(9);
  world.commit_all(world.close_all(world.carry_all()));
  world.carry_all();
  BOOST_REQUIRE((world.schedule.frame().phase == Frame::Phase::kFinished));
  BOOST_TEST(ending(world, 1, {kIdle}).go);
  BOOST_TEST(!ending(world, 2, {kIdle}).go);  // the other one leaves
  for (uint32_t n : {3u, 4u}) world.facts(n).leaves = true;
  BOOST_TEST(ending(world, 2, {kIdle}).go);  // all do
  for (uint32_t n : {3u, 4u}) world.facts(n).leaves = false;
  for (auto& [id, peer] : world.roster.peers()) peer.snapshots = {Step(10)};
  world.schedule.resume({orders::Later::What::kSaveFinal}, world.now += 100ms);
  const auto saved = world.schedule.saved({}, world.now);
  BOOST_TEST(world.schedule.frame().over);
  const auto end = ending(world, 2, {kIdle});
  BOOST_TEST(end.go, end.reason);
}

BOOST_AUTO_TEST_CASE(who_asks_is_counted_out_from_then_on) {
  World world;
  world.open(0);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 1, 1e9);
  world.carry(leases.step, leases.slots.at(0).lease);
  Leavers leavers(world.roster);
  const auto first = leavers.ask(peer(1), kIdle, world.schedule, world.now);
  BOOST_TEST(!first.go, first.reason);
  BOOST_TEST(world.facts(1).leaves);
  BOOST_TEST(world.facts(1).departs);  // updates that overlap make room
  const auto other = leavers.ask(peer(2), kIdle, world.schedule, world.now);
  BOOST_TEST(other.go);  // nobody would be left of its stage
}

// A new coordinator knows nobody at first: it sent them away with what they held.
BOOST_AUTO_TEST_CASE(who_has_not_registered_with_this_coordinator_is_given_time_to) {
  World world;
  world.open(0);
  Leavers leavers(world.roster);
  const auto ask = [&] { return leavers.ask(peer(77), kIdle, world.schedule, world.now); };
  BOOST_TEST(!ask().go);
  world.now += 5s;
  BOOST_TEST(ask().go);
  leavers.clear();
  BOOST_TEST(!ask().go);
  // One that was told to go and asks again has not heard that.
  BOOST_REQUIRE(leavers.ask(peer(2), kIdle, world.schedule, world.now).go);
  world.lose(2);
  BOOST_TEST(leavers.ask(peer(2), kIdle, world.schedule, world.now).go);
}

BOOST_AUTO_TEST_CASE(stages_that_have_not_come_yet_are_not_left_by_all) {
  World world;
  world.lose(3);
  world.lose(4);
  BOOST_TEST(!ending(world, 1, {kIdle}).go);
  world.facts(2).leaves = true;
  BOOST_TEST(ending(world, 1, {kIdle}).reason == "nobody stays in stage 0");
}

// It went at once in any gathering if it had waited for five seconds before.
BOOST_AUTO_TEST_CASE(a_gathering_is_measured_from_its_own_beginning) {
  World world;
  world.open(0);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 1, 1e9);
  world.carry(leases.step, leases.slots.at(0).lease);
  Leavers leavers(world.roster);
  const auto ask = [&] { return leavers.ask(peer(1), kIdle, world.schedule, world.now).go; };
  BOOST_TEST(!ask());
  world.now += 10s;
  world.schedule.close();
  BOOST_TEST(!ask());
  world.now += 4s;
  BOOST_TEST(!ask());
  world.now += 1s;
  BOOST_TEST(ask());
}

BOOST_AUTO_TEST_SUITE_END()
