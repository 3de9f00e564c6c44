#include "routing/steps/save_policy.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

namespace {

/// Two stages with one serving peer each.
struct World {
  Roster roster{2};
  SavePolicy policy{SavePolicyOptions{2, 10}};

  World() {
    for (uint32_t stage : {0u, 1u}) {
      roster.report(peer(stage), Stage(stage), "n", PeerReport{});
      roster.find(peer(stage))->serving = true;
    }
  }
  static PeerId peer(uint32_t stage) { return {NodeId{}, "stage." + std::to_string(stage)}; }
  void durable(uint32_t stage, uint64_t step) {
    roster.find(peer(stage))->snapshots = {Step(step)};
  }
  std::optional<Step> kept() {
    const auto keep = policy.keep(roster);
    return keep ? std::optional(keep->step) : std::nullopt;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(PolicyOfSnapshots)

BOOST_AUTO_TEST_CASE(every_so_many_steps_and_the_last_one_are_saved) {
  World world;
  for (uint64_t step : {1, 2, 3, 4, 9, 10}) {
    const bool due = step % 2 == 0 || step == 10;
    BOOST_TEST(world.policy.decide(Step(step), world.roster, 1s * step) == due);
    world.durable(0, step);
    world.durable(1, step);
  }
}

BOOST_AUTO_TEST_CASE(a_fast_disk_does_not_drop_what_a_slow_one_has_not_yet_matched) {
  World world;
  BOOST_TEST(world.policy.decide(Step(2), world.roster, 1s));
  world.durable(0, 2);  // stage 1 still writes
  BOOST_TEST(!world.policy.decide(Step(4), world.roster, 2s));
  world.durable(1, 2);
  // Overdue: with the next step that may.
  BOOST_TEST(world.policy.decide(Step(5), world.roster, 3s));
}

// Nobody will ever have the one that was asked for: for two minutes nothing was saved.
BOOST_AUTO_TEST_CASE(after_going_back_the_next_one_waits_for_none_of_what_was_given_up) {
  World world;
  BOOST_TEST(world.policy.decide(Step(2), world.roster, 1s));
  for (uint32_t stage : {0u, 1u}) world.durable(stage, 2);
  BOOST_TEST(world.policy.decide(Step(8), world.roster, 2s));
  world.policy.gone_back(Step(2));
  BOOST_TEST(world.policy.decide(Step(4), world.roster, 3s));
  BOOST_TEST(!world.policy.decide(Step(6), world.roster, 4s));  // 4 is not durable yet
}

BOOST_AUTO_TEST_CASE(nothing_is_saved_while_what_somebody_ordered_is_written) {
  // With one snapshot kept, a fast stage that is asked again prunes the step that a slow one is about to
  // make the newest of all stages.
  World world;
  const uint64_t order = world.policy.order_begins(1s);
  BOOST_TEST(!world.policy.may_save(world.roster, 2s));
  BOOST_TEST(!world.policy.decide(Step(2), world.roster, 2s));
  world.policy.order_ends(order);
  BOOST_TEST(world.policy.decide(Step(3), world.roster, 3s));  // overdue

  BOOST_TEST(
      !world.policy.may_save(world.roster, 4s));  // nor does an order begin before that is there
  world.durable(0, 3);
  world.durable(1, 3);
  BOOST_TEST(world.policy.may_save(world.roster, 5s));
}

BOOST_AUTO_TEST_CASE(a_late_answer_to_an_order_that_was_given_up_does_not_end_the_next_one) {
  World world;
  const uint64_t first = world.policy.order_begins(1s);
  world.policy.forget();  // the swarm gathers
  const uint64_t second = world.policy.order_begins(2s);
  world.policy.order_ends(first);
  BOOST_TEST(!world.policy.may_save(world.roster, 3s));
  world.policy.order_ends(second);
  BOOST_TEST(world.policy.may_save(world.roster, 4s));
}

BOOST_AUTO_TEST_CASE(an_order_that_nobody_answers_does_not_end_all_snapshots_for_ever) {
  World world;
  world.policy.order_begins(1s);
  BOOST_TEST(!world.policy.may_save(world.roster, 120s));
  BOOST_TEST(world.policy.may_save(world.roster, 121s));
}

BOOST_AUTO_TEST_CASE(a_stage_whose_disk_fails_does_not_end_all_snapshots_for_ever) {
  World world;
  BOOST_TEST(world.policy.decide(Step(2), world.roster, 1s));
  BOOST_TEST(!world.policy.decide(Step(4), world.roster, 120s));
  BOOST_TEST(world.policy.decide(Step(5), world.roster, 121s));
}

BOOST_AUTO_TEST_CASE(what_was_asked_for_before_a_gathering_is_not_waited_for) {
  World world;
  BOOST_TEST(world.policy.decide(Step(2), world.roster, 1s));
  world.policy.forget();
  BOOST_TEST(world.policy.decide(Step(4), world.roster, 2s));
}

// The others went on, and after `keep` more the last step that all had was gone: nothing to resume from.
BOOST_AUTO_TEST_CASE(the_newest_snapshot_of_every_stage_is_kept_while_a_disk_fails) {
  World world;
  BOOST_TEST(!world.policy.keep(world.roster).has_value());
  world.durable(0, 2);
  world.durable(1, 2);
  BOOST_TEST((world.kept() == Step(2)));
  for (uint64_t step : {4, 6, 8, 10}) {
    world.roster.find(World::peer(0))->snapshots = {Step(step), Step(2)};
    BOOST_TEST((world.kept() == Step(2)));
  }
  world.durable(1, 10);
  BOOST_TEST((world.kept() == Step(10)));
}

BOOST_AUTO_TEST_CASE(another_word_is_a_later_one_even_if_the_step_is_older) {
  World world;
  world.durable(0, 2);
  world.durable(1, 2);
  const auto first = world.policy.keep(world.roster);
  BOOST_TEST(world.policy.keep(world.roster)->order == first->order);
  for (uint32_t stage : {0u, 1u}) world.durable(stage, 4);
  const auto second = world.policy.keep(world.roster);
  BOOST_TEST(second->order > first->order);
  BOOST_TEST((world.policy.known()->step == Step(4)));      // whoever is told anything is told this
  for (uint32_t stage : {0u, 1u}) world.durable(stage, 2);  // their disks were lost
  BOOST_TEST(world.policy.keep(world.roster)->order > second->order);
}

BOOST_AUTO_TEST_CASE(while_a_stage_is_away_what_it_had_is_kept_but_not_after_a_roll_back) {
  World world;
  world.durable(0, 4);
  world.durable(1, 4);
  world.policy.look(world.roster, 1s);
  BOOST_TEST((world.policy.known()->step == Step(4)));
  world.roster.find(World::peer(1))->serving = false;
  BOOST_TEST((world.kept() == Step(4)));
  world.policy.look(world.roster, 2s);
  BOOST_TEST((world.policy.known()->step == Step(4)));
  world.policy.gone_back(Step(4));
  BOOST_TEST((world.kept() == Step(4)));
  world.policy.gone_back(Step(3));
  BOOST_TEST(!world.policy.keep(world.roster).has_value());
}

BOOST_AUTO_TEST_CASE(the_last_snapshot_is_tried_five_times) {
  World world;
  world.policy.begin_final();
  for (int tries = 1; tries < 5; ++tries) BOOST_TEST(world.policy.try_again());
  BOOST_TEST(!world.policy.try_again());
}

BOOST_AUTO_TEST_SUITE_END()
