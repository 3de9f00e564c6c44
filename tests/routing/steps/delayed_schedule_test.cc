#include "routing/steps/delayed_schedule.h"

#include <boost/test/unit_test.hpp>

#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using World = ScheduleWorld<DelayedSchedule>;

}  // namespace

BOOST_AUTO_TEST_SUITE(DelayedUpdates)

BOOST_AUTO_TEST_CASE(the_next_step_is_open_while_the_last_one_is_averaged) {
  World world;
  world.open(0);
  const auto closes = all_of<orders::CloseStep>(world.carry_all());
  BOOST_REQUIRE(closes.size() == 2u);
  BOOST_TEST(closes[0].go_on);
  BOOST_TEST(!closes[0].commit.has_value());
  BOOST_TEST(world.schedule.frame().open.step == Step(1));
  BOOST_TEST(world.schedule.applied() == Step(0));
}

BOOST_AUTO_TEST_CASE(the_update_travels_with_the_next_closing) {
  World world;
  world.open(0);
  const auto first = world.carry_all();
  const auto averaged = world.close_all(first);
  BOOST_TEST(!has<orders::CommitStep>(averaged));
  const auto second = all_of<orders::CloseStep>(world.carry_all());
  BOOST_REQUIRE(second.size() == 2u);
  BOOST_REQUIRE(second[0].commit.has_value());
  BOOST_TEST(second[0].commit->step == Step(0));
  BOOST_TEST(second[0].commit->round == all_of<orders::CloseStep>(first)[0].round);
  BOOST_TEST(world.schedule.frame().open.step == Step(2));
  BOOST_TEST(world.schedule.applied() == Step(1));
}

BOOST_AUTO_TEST_CASE(a_full_step_waits_for_the_average_of_the_one_before) {
  World world;
  world.open(0);
  const auto first = world.carry_all();
  BOOST_TEST(!has<orders::CloseStep>(world.carry_all()));
  BOOST_TEST(all_of<orders::CloseStep>(world.close_all(first)).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_peer_lost_while_an_update_is_under_way_makes_the_swarm_gather) {
  World world;
  world.open(0);
  world.carry_all();
  BOOST_TEST(gather_reason(world.lose(2)) == "a peer was lost while an update was under way");
}

// It was as if it were needed still, and two steps were computed again.
BOOST_AUTO_TEST_CASE(a_peer_lost_when_it_has_its_average_costs_no_step) {
  World world;
  world.open(0);
  const auto closes = all_of<orders::CloseStep>(world.carry_all());
  world.closed(closes[0], peer(1));
  const auto lost = world.lose(1);
  BOOST_TEST(!has<orders::Gather>(lost));
  world.closed(closes[0], peer(2));
  for (uint32_t n : {3u, 4u}) world.closed(closes[1], peer(n));
  BOOST_TEST((world.schedule.round(Stage(0), closes[0].round)->at == StageRound::At::kAveraged));
  const auto next = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  BOOST_TEST(next.step == Step(1));
}

BOOST_AUTO_TEST_CASE(whoever_needs_one_that_was_lost_with_its_average_makes_the_swarm_gather) {
  World world;
  world.open(0);
  const auto close = all_of<orders::CloseStep>(world.carry_all())[0];
  world.closed(close, peer(1));
  world.lose(1);
  BOOST_TEST(gather_reason(world.close_failed(close, peer(2), ErrorCode::kPeerTimeout)) ==
             "a round failed while the next step was under way");
}

BOOST_AUTO_TEST_CASE(a_peer_that_came_while_an_update_is_under_way_may_go) {
  World world;
  world.open(0);
  world.carry_all();
  world.add(9);
  BOOST_TEST(!has<orders::Gather>(world.lose(9)));
}

namespace {

/// The swarm collapses at `step`, which is open, and goes back to it.
Orders collapse(World& world, uint64_t step) {
  world.carry_all();
  const auto orders = world.lose(9);
  BOOST_TEST(has<orders::Gather>(orders));
  world.schedule.close();
  for (auto& [id, peer] : world.roster.peers()) peer.commit_pending = false;  // all registered
  world.all_at(step);
  world.add(9, step);
  world.open(step);
  return orders;
}

/// Closes the open step on its own.
void close_plainly(World& world) {
  const auto filled = world.carry_all();
  const auto closes = all_of<orders::CloseStep>(filled);
  BOOST_REQUIRE(!closes.empty());
  BOOST_TEST(!closes[0].go_on);
  world.commit_all(world.close_all(filled));
}

}  // namespace

BOOST_AUTO_TEST_CASE(after_two_collapses_it_runs_plain_for_a_while_and_a_loss_costs_slots_only) {
  auto options = World::standard();
  options.steps = 100;
  World world(options);
  world.add(9);
  world.open(0);
  BOOST_TEST(noted<facts::RunsPlain>(collapse(world, 0)).empty());
  close_plainly(world);  // step 0, done again
  const auto plain = noted<facts::RunsPlain>(collapse(world, 1));
  BOOST_REQUIRE(plain.size() == 1u);
  BOOST_TEST(plain[0].until == Step(2 + DelayedSchedule::kPlain));
  for (uint64_t step = 1; step < 2 + DelayedSchedule::kPlain; ++step) {
    BOOST_TEST(world.schedule.frame().open.step == Step(step));
    if (step == 5) {
      BOOST_TEST(!has<orders::Gather>(world.lose(9)));
      world.add(9, step);
    }
    close_plainly(world);
  }
  BOOST_TEST(all_of<orders::CloseStep>(world.carry_all()).at(0).go_on);
}

BOOST_AUTO_TEST_CASE(a_round_that_fails_while_the_next_step_runs_makes_the_swarm_gather) {
  World world;
  world.open(0);
  const auto close = all_of<orders::CloseStep>(world.carry_all())[0];
  world.close_failed(close, peer(1), ErrorCode::kPeerTimeout);
  const auto orders = world.close_failed(close, peer(2), ErrorCode::kPeerTimeout);
  BOOST_TEST(gather_reason(orders) == "a round failed while the next step was under way");
}

// Peers that held more than counted failed the round, the swarm went back, computed the step again,
// and the same peers held more than counted: for ever.
BOOST_AUTO_TEST_CASE(a_step_done_again_after_a_failed_round_is_closed_as_in_synchronous_training) {
  World world;
  world.open(0);
  const auto failed = all_of<orders::CloseStep>(world.carry_all())[0];
  world.close_failed(failed, peer(1), ErrorCode::kPeerTimeout);
  world.close_failed(failed, peer(2), ErrorCode::kPeerTimeout);
  world.schedule.close();
  for (auto& [id, peer] : world.roster.peers()) peer.commit_pending = false;  // all registered
  world.open(0);
  const auto filled = world.carry_all();
  const auto again = all_of<orders::CloseStep>(filled);
  BOOST_REQUIRE(again.size() == 2u);
  BOOST_TEST(!again[0].go_on);
  BOOST_TEST(world.schedule.frame().open.step == Step(0));
  world.commit_all(world.close_all(filled));
  BOOST_TEST(world.schedule.frame().open.step == Step(1));
  BOOST_TEST(all_of<orders::CloseStep>(world.carry_all())[0].go_on);  // and so on as always
}

BOOST_AUTO_TEST_CASE(a_newcomer_gets_a_moment_without_an_update_under_way) {
  World world;
  world.add(9).serving = false;
  world.open(0);
  const auto closes = all_of<orders::CloseStep>(world.carry_all());
  BOOST_REQUIRE(closes.size() == 2u);
  BOOST_TEST(!closes[0].go_on);
  BOOST_TEST(world.schedule.frame().open.step == Step(0));
}

BOOST_AUTO_TEST_CASE(who_is_behind_and_does_not_learn_keeps_nobody) {
  World world;
  world.all_at(5);
  world.add(9, 3).serving = false;
  world.open(5);
  BOOST_TEST(all_of<orders::CloseStep>(world.carry_all()).at(0).go_on);
}

// A learner that had it all and then hung kept the pipeline dry for ever.
BOOST_AUTO_TEST_CASE(a_newcomer_that_does_not_come_in_keeps_the_pipeline_dry_for_a_few_steps) {
  auto options = World::standard();
  options.steps = 100;
  World world(options);
  auto& learner = world.add(9);
  learner.serving = learner.has_state = false;
  learner.learned_bytes = learner.state_bytes = 10;
  world.open(0);
  for (uint64_t step = 0; step < DelayedSchedule::kPatience; ++step) close_plainly(world);
  BOOST_TEST(all_of<orders::CloseStep>(world.carry_all()).at(0).go_on);
}

// An overlapped round that fails makes the swarm go back: a parted pair is tried in one on its own.
BOOST_AUTO_TEST_CASE(a_parted_pair_is_tried_again_only_in_a_round_on_its_own) {
  World world;
  world.add(9).stage = Stage(0);
  world.open(0);
  const auto failed = all_of<orders::CloseStep>(world.carry_all())[0];
  for (uint32_t n : {1u, 2u, 9u}) world.close_failed(failed, peer(n), ErrorCode::kPeerTimeout);
  world.schedule.close();
  for (auto& [id, peer] : world.roster.peers()) peer.commit_pending = false;  // all registered
  world.open(0);
  Orders orders = world.carry_all(), averaged;
  for (int tick = 0; tick < 100 && !has<orders::CommitStep>(averaged); ++tick) {
    for (const auto& close : all_of<orders::CloseStep>(orders)) {
      if (close.stage == Stage(0) && close.relays.empty())
        world.close_unreached(close, 0, 1);
      else
        for (const auto& one : close.members)
          World::append(averaged, world.closed(close, one.peer));
    }
    orders = world.tick();
  }
  world.commit_all(averaged);
  BOOST_REQUIRE(world.schedule.frame().open.step == Step(1));
  const auto overlapped = world.carry_all();
  BOOST_TEST(all_of<orders::CloseStep>(overlapped).at(0).relays.size() == 1u);
  world.close_all(overlapped);
  world.now += Reach::kRetry;
  BOOST_TEST(world.schedule.frame().open.step == Step(2));
  const auto last = all_of<orders::CloseStep>(world.carry_all());
  BOOST_REQUIRE(!last.empty());
  BOOST_TEST(last.at(0).commit.has_value());  // to fail is to go back: the relay stays
  BOOST_TEST(!last.at(0).go_on);              // and the pipeline runs dry, for the next one
  BOOST_TEST(last.at(0).relays.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_last_step_is_closed_as_in_synchronous_training) {
  World world;
  world.all_at(9);
  world.open(9);
  const auto filled = world.carry_all();
  BOOST_TEST(!all_of<orders::CloseStep>(filled)[0].go_on);
  BOOST_TEST(all_of<orders::CommitStep>(world.close_all(filled)).size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
