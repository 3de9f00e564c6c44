// The end of synchronous training: the last snapshot.
#include <boost/test/unit_test.hpp>

#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using World = ScheduleWorld<SyncSchedule>;

/// Through the whole last step, up to the last snapshot.
Orders reach_the_end(World& world) {
  world.all_at(9);
  world.open(9);
  world.commit_all(world.close_all(world.carry_all()));
  return world.carry_all();  // the final validation
}

}  // namespace

BOOST_AUTO_TEST_SUITE(TheEndOfSynchronousSteps)

// It was called finished after five tries, as if all were well.
BOOST_AUTO_TEST_CASE(an_end_that_is_not_durable_says_so) {
  for (const bool one_has_it : {false, true}) {
    World world;
    Orders orders = reach_the_end(world);
    for (uint32_t n : {1u, 3u}) world.facts(n).snapshots = {Step(n == 1 || one_has_it ? 10 : 8)};
    std::vector<facts::Finished> finished;
    for (int i = 0; i < 20 && finished.empty(); ++i) {
      orders = world.schedule.resume({orders::Later::What::kSaveFinal}, world.now += 121s);
      BOOST_REQUIRE(has<orders::SaveAll>(orders));
      const Error full{ErrorCode::kIo, "no space is left"};
      finished = noted<facts::Finished>(world.schedule.saved(full, world.now));
    }
    BOOST_REQUIRE(finished.size() == 1u);
    BOOST_TEST(finished[0].not_durable.empty() == one_has_it);
    BOOST_TEST(world.schedule.frame().over);
  }
}

// Its disks and all were gone by the time that the last try failed: the end was declared, though others had
// copies to go on from.
BOOST_AUTO_TEST_CASE(a_stage_that_dies_while_a_last_snapshot_fails_is_trained_again) {
  World world;
  reach_the_end(world);
  for (uint32_t n : {1u, 3u}) world.facts(n).snapshots = {Step(8)};
  const Error full{ErrorCode::kIo, "no space is left"};
  Orders orders;
  constexpr int kLastTry = 4;
  for (int tries = 0; tries <= kLastTry; ++tries) {
    world.schedule.resume({orders::Later::What::kSaveFinal}, world.now += 121s);
    if (tries == kLastTry)
      for (uint32_t n : {3u, 4u}) world.lose(n);
    orders = world.schedule.saved(full, world.now);
    BOOST_TEST(noted<facts::Finished>(orders).empty(), tries);
  }
  BOOST_TEST(gather_reason(orders).find("stage 1") != std::string::npos);
  BOOST_TEST(!world.schedule.frame().over);
}

BOOST_AUTO_TEST_CASE(the_end_is_declared_once_the_last_snapshot_is_durable_in_every_stage) {
  World world;
  const auto ended = reach_the_end(world);
  BOOST_TEST((world.schedule.frame().phase == Frame::Phase::kFinished));
  Orders orders = ended;
  for (auto& [id, peer] : world.roster.peers()) peer.snapshots = {Step(10)};
  if (!has<orders::SaveAll>(orders))
    orders = world.schedule.resume({orders::Later::What::kSaveFinal}, world.now += 100ms);
  BOOST_REQUIRE(has<orders::SaveAll>(orders));
  BOOST_TEST(!world.schedule.frame().over);
  const auto saved = world.schedule.saved({}, world.now);
  BOOST_TEST(noted<facts::Finished>(saved).size() == 1u);
  BOOST_TEST(has<orders::EndLeases>(saved));
  BOOST_TEST(world.schedule.frame().over);
}

BOOST_AUTO_TEST_CASE(a_stage_that_dies_before_its_last_snapshot_is_durable_is_trained_again) {
  World world;
  reach_the_end(world);
  for (uint32_t n : {3u, 4u}) world.lose(n);
  const auto orders = world.schedule.resume({orders::Later::What::kSaveFinal}, world.now += 100ms);
  BOOST_TEST(gather_reason(orders).find("stage 1") != std::string::npos);
  BOOST_TEST(!world.schedule.frame().over);
}

// The end was declared: the stage was durable, but lost its disks before a slower one was, and nobody made the
// swarm go back to the copies that there were.
BOOST_AUTO_TEST_CASE(a_stage_that_dies_before_a_slower_one_is_durable_is_waited_for) {
  World world;
  reach_the_end(world);
  for (auto& [id, peer] : world.roster.peers()) peer.snapshots = {Step(10)};
  world.schedule.resume({orders::Later::What::kSaveFinal}, world.now += 100ms);
  for (uint32_t n : {3u, 4u}) world.lose(n);
  const auto orders = world.schedule.saved({}, world.now);
  BOOST_TEST(gather_reason(orders).find("stage 1") != std::string::npos);
  BOOST_TEST(!world.schedule.frame().over);
}

BOOST_AUTO_TEST_CASE(the_last_snapshot_waits_until_a_slower_stage_has_matched_the_one_before) {
  World world;
  world.all_at(8);
  world.open(8);
  const auto committed = world.close_all(world.carry_all());  // goes to step 9: not saved
  world.commit_all(committed);
  const auto last = world.close_all(world.carry_all());  // to step 10: saved with the commit
  BOOST_TEST(all_of<orders::CommitStep>(last)[0].save);
  world.commit_all(last);
  const auto ended = world.carry_all();
  BOOST_TEST(!has<orders::SaveAll>(ended));
  BOOST_TEST(has<orders::Later>(ended));
  for (auto& [id, peer] : world.roster.peers()) peer.snapshots = {Step(10)};
  BOOST_TEST(has<orders::SaveAll>(
      world.schedule.resume({orders::Later::What::kSaveFinal}, world.now += 100ms)));
}

BOOST_AUTO_TEST_CASE(who_comes_back_after_the_end_without_the_last_snapshot_is_asked_for_one_once) {
  World world;
  reach_the_end(world);
  for (auto& [id, peer] : world.roster.peers()) peer.snapshots = {Step(10)};
  world.schedule.saved({}, world.now);
  world.facts(2).snapshots = {Step(8)};
  Orders orders;
  world.schedule.admit(peer(2), orders, world.now);
  BOOST_TEST(has<orders::SaveLate>(orders));
  world.schedule.admit(peer(2), orders, world.now);
  BOOST_TEST(!has<orders::SaveLate>(orders));
}

BOOST_AUTO_TEST_SUITE_END()
