#include "routing/membership/relocation.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "routing/steps/async_schedule.h"
#include "tests/routing/membership/relocation_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using Kind = LeaveAnswer::Kind;

}  // namespace

BOOST_AUTO_TEST_SUITE(RelocationTest)

BOOST_AUTO_TEST_CASE(an_order_is_told_until_the_peer_shows_it) {
  RelocationWorld world;
  world.period();
  const auto orders = world.noted<MoveOrdered>();
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST(orders[0].peer == "n3");
  BOOST_TEST((orders[0].order.from == Stage(1) && orders[0].order.to == Stage(0)));
  for (int i = 0; i < 2; ++i) {
    const auto told = world.tell(3);
    BOOST_TEST(told.number == 1u);
    BOOST_TEST((told.to == Stage(0) && !told.shown));
  }
  BOOST_TEST(!world.tell(3, 1, Term(2)).shown);
  BOOST_TEST(world.tell(3, 1).shown);
  BOOST_TEST(world.tell(4).number == 0u);
}

BOOST_AUTO_TEST_CASE(nobody_moves_where_the_options_or_the_peers_say_so) {
  PlacementOptions options;
  options.moves = false;
  RelocationWorld off(options);
  RelocationWorld unmovable;
  unmovable.may_move = false;
  for (RelocationWorld* world : {&off, &unmovable}) {
    for (int i = 0; i < 5; ++i) world->period();
    BOOST_TEST(world->relocation.take_notes().empty());
  }
}

BOOST_AUTO_TEST_CASE(why_nobody_moves_is_told_once) {
  RelocationWorld world;
  for (uint32_t n : {5u, 6u}) world.lose(n);
  for (int i = 0; i < 3; ++i) world.period();
  const auto held = world.noted<MovesHeld>();
  BOOST_REQUIRE(held.size() == 1u);
  BOOST_TEST((held[0].hold == PlacementHold::kNoGiver));
}

BOOST_AUTO_TEST_CASE(after_a_gathering_those_that_were_elsewhere_are_waited_for) {
  RelocationWorld world;
  world.lose(2);  // below its floor
  for (uint32_t n : {1u, 3u, 4u, 5u, 6u}) world.tell(n);
  world.relocation.look(true, world.now += 5s);
  BOOST_TEST(world.noted<MoveOrdered>().empty());
  world.relocation.look(true, world.now += 5s);
  const auto orders = world.noted<MoveOrdered>();
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST((orders[0].order.why == PlacementOrder::Why::kFloor));
}

BOOST_AUTO_TEST_CASE(a_mover_leaves_when_the_step_that_it_has_a_part_in_is_committed) {
  RelocationWorld world;
  world.period();
  const auto leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  Orders orders = world.carry(leases.step, leases.slots[0].lease);
  BOOST_TEST((world.ask(3).kind == Kind::kLater));  // it holds a slot
  for (size_t i = 1; i < leases.slots.size(); ++i)
    world.append(orders, world.carry(leases.step, leases.slots[i].lease));
  BOOST_TEST((world.ask(3).kind == Kind::kLater));  // the round runs
  orders = world.close_all(orders);
  BOOST_TEST((world.ask(3).kind == Kind::kLater));  // the update is under way
  world.commit_all(orders);
  BOOST_TEST((world.ask(3).kind == Kind::kYes));
}

BOOST_AUTO_TEST_CASE(the_answer_yes_stays_and_who_got_it_is_no_peer_any_more) {
  RelocationWorld world;
  world.period();
  BOOST_TEST(world.relocation.left_by(peer(3)) == 0u);
  world.leave(3);
  BOOST_TEST((world.ask(3).kind == Kind::kAgain));
  BOOST_TEST(world.relocation.left_by(peer(3)) == 1u);
  BOOST_TEST(world.relocation.left_by(peer(3, "stage.0.1")) == 0u);
}

BOOST_AUTO_TEST_CASE(it_has_arrived_when_it_serves_its_new_stage) {
  RelocationWorld world;
  world.period();
  world.leave(3);
  world.now += 30s;
  PeerFacts& peer = world.comes(3, 0);
  BOOST_TEST(world.noted<MoveDone>().empty());
  peer.serving = true;
  world.relocation.registered(swarm::testing::peer(3, "stage.0.1"), {}, world.now);
  const auto done = world.noted<MoveDone>();
  BOOST_REQUIRE(done.size() == 1u);
  BOOST_TEST(done[0].peer == "n3");
  BOOST_TEST((done[0].to == Stage(0) && done[0].took == 30s));
}

BOOST_AUTO_TEST_CASE(who_comes_back_in_its_old_stage_has_given_up) {
  RelocationWorld world;
  world.period();
  world.leave(3);
  world.comes(3, 1);
  BOOST_TEST(world.noted<MoveGivenUp>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(of_two_that_ask_only_one_goes_where_both_cannot) {
  RelocationWorld world;
  BOOST_REQUIRE(world.relocation.send("n1", Stage(1), world.now).code() == ErrorCode::kRefused);
  world.period();  // everybody has told
  world.noted<MoveOrdered>();
  BOOST_REQUIRE(world.relocation.send("n1", Stage(1), world.now).ok());
  const auto second = world.relocation.send("n2", Stage(1), world.now);
  BOOST_TEST((second.code() == ErrorCode::kRefused));
  BOOST_TEST(second.error().detail == "it is the last of its stage");
}

BOOST_AUTO_TEST_CASE(the_last_peer_stays_though_it_has_an_order) {
  RelocationWorld world;
  world.period();
  BOOST_REQUIRE(world.relocation.send("n1", Stage(1), world.now).ok());  // the second order
  world.lose(2);
  BOOST_TEST((world.ask(1, 2).kind == Kind::kNo));
  BOOST_TEST(world.tell(1, 2).number == 0u);
  const auto given_up = world.noted<MoveGivenUp>();
  BOOST_REQUIRE(given_up.size() == 1u);
  BOOST_TEST(given_up[0].peer == "n1");
}

// It takes no microbatches: its stage would wait for a commit that never comes.
BOOST_AUTO_TEST_CASE(an_order_lapses_when_the_others_of_the_stage_die) {
  RelocationWorld world;
  world.period();
  BOOST_TEST(world.tell(3, 1).number == 1u);
  for (uint32_t n : {4u, 5u, 6u}) world.lose(n);
  world.relocation.look(true, world.now += 100ms);
  BOOST_TEST(world.tell(3, 1).number == 0u);
}

BOOST_AUTO_TEST_CASE(orders_of_another_term_have_lapsed) {
  RelocationWorld world;
  world.period();
  BOOST_TEST((world.ask(3, 1, Term(2)).kind == Kind::kNo));
  world.relocation.begin(Term(4), world.now);
  BOOST_TEST(world.noted<MoveGivenUp>().size() == 1u);
  BOOST_TEST((world.ask(3).kind == Kind::kNo));
  BOOST_TEST((world.ask(3, 1, Term(4)).kind == Kind::kNo));
  BOOST_TEST(world.tell(3, 1).number == 0u);
}

BOOST_AUTO_TEST_CASE(an_order_is_of_one_peer) {
  RelocationWorld world;
  world.period();
  BOOST_TEST((world.ask(4).kind == Kind::kNo));
  BOOST_TEST((world.ask(3, 2).kind == Kind::kNo));
}

BOOST_AUTO_TEST_CASE(a_mover_that_dies_has_no_order_any_more) {
  RelocationWorld world;
  world.period();
  world.leave(3);
  world.relocation.lost(node(3), world.now);
  BOOST_REQUIRE(world.noted<MoveGivenUp>().size() == 1u);
  BOOST_TEST((world.ask(3).kind == Kind::kNo));
  BOOST_TEST(world.relocation.left_by(peer(3)) == 0u);
}

BOOST_AUTO_TEST_CASE(who_takes_too_long_is_waited_for_no_more) {
  RelocationWorld world;
  world.period();
  for (int i = 0; i < 3; ++i) world.period();
  const auto notes = world.relocation.take_notes();
  const auto given_up = std::find_if(notes.begin(), notes.end(), [](const auto& one) {
    return std::holds_alternative<MoveGivenUp>(one);
  });
  BOOST_REQUIRE((given_up != notes.end()));
  BOOST_TEST(std::get<MoveGivenUp>(*given_up).reason == "it takes too long");
}

BOOST_AUTO_TEST_CASE(who_is_told_to_leave_the_swarm_moves_no_more) {
  RelocationWorld world;
  world.period();
  world.facts(3).leaves = true;
  world.relocation.leaves(peer(3), world.now);
  BOOST_TEST(world.noted<MoveGivenUp>().size() == 1u);
  BOOST_TEST(world.tell(3).number == 0u);
}

BOOST_AUTO_TEST_CASE(nobody_leaves_while_the_swarm_gathers) {
  RelocationWorld world;
  world.period();
  world.schedule.close();
  BOOST_TEST((world.ask(3).kind == Kind::kLater));
  BOOST_TEST(world.tell(3, 1).number == 1u);
}

BOOST_AUTO_TEST_CASE(a_newcomer_goes_where_nobody_is_also_while_the_swarm_gathers) {
  RelocationWorld world;
  for (uint32_t n : {1u, 2u}) world.lose(n);
  world.schedule.close();
  world.relocation.look(false, world.now);
  const auto told = world.relocation.wants_stage(peer(9), "n9", 1e6, world.now);
  BOOST_TEST(told.number == 1u);
  BOOST_TEST((told.to == Stage(0)));
  BOOST_TEST(world.relocation.wants_stage(peer(9), "n9", 1e6, world.now).number == 1u);
  BOOST_TEST((world.ask(9).kind == Kind::kAgain));  // it is in no stage
  world.comes(9, 0, /*serving=*/true);
  BOOST_TEST(world.noted<MoveDone>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(operators_are_told_why_not) {
  RelocationWorld world;
  world.period();
  const auto code = [&](const char* peer, uint32_t stage) {
    return world.relocation.send(peer, Stage(stage), world.now).code();
  };
  BOOST_TEST((code("nobody", 0) == ErrorCode::kInvalidArgument));
  BOOST_TEST((code("n4", 2) == ErrorCode::kInvalidArgument));
  BOOST_TEST((code("n4", 1) == ErrorCode::kInvalidArgument));
  BOOST_TEST((code("n3", 0) == ErrorCode::kRefused));  // it moves
  BOOST_TEST((code("n4/stage.0", 0) == ErrorCode::kNone));
  world.may_move = false;
  world.tell(5);
  BOOST_TEST((code("n5", 0) == ErrorCode::kRefused));
}

BOOST_AUTO_TEST_CASE(rebalance_does_not_wait_for_the_period) {
  PlacementOptions options;
  options.moves = false;
  RelocationWorld world(options);
  for (uint32_t n = 1; n <= 6; ++n) world.tell(n);
  const auto decision = world.relocation.rebalance(world.now);
  BOOST_REQUIRE(decision.ok());
  BOOST_TEST(decision->orders.size() == 1u);
  world.relocation.look(false, world.now);
  BOOST_TEST((world.relocation.rebalance(world.now).code() == ErrorCode::kNotReady));
}

BOOST_AUTO_TEST_CASE(registrations_that_come_often_are_taken_together) {
  RelocationWorld world;
  for (uint32_t n = 1; n <= 6; ++n) world.tell(n);
  // A second without a microbatch is not a stage without work.
  for (int second = 0; second < 59; ++second) {
    world.now += 1s;
    for (uint32_t n = 1; n <= 6; ++n) {
      const double part = n > 2 ? 0.5 : second % 2 == 0 ? 0.0 : 2.0;
      world.relocation.registered(peer(n), {part, part, part, true, 0, {}}, world.now);
    }
  }
  world.now += 1s;
  world.relocation.look(true, world.now);
  const auto orders = world.noted<MoveOrdered>();
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST(orders[0].order.to_load == 1, boost::test_tools::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(while_the_swarm_gathers_newcomers_wait_for_those_that_may_still_come) {
  PlacementOptions options;
  options.start_grace = 1s;
  RelocationWorld world(options);
  for (uint32_t n : {1u, 2u}) world.lose(n);
  world.schedule.close();
  const auto told = [&](uint32_t n) {
    return world.relocation.wants_stage(peer(n, "stage.0"), "n", 1e6, world.now).number;
  };
  world.relocation.look(false, world.now);
  world.now += 900ms;
  world.comes(8, 1);  // and there may be more
  world.now += 900ms;
  BOOST_TEST(told(9) == 0u);
  world.now += 100ms;
  BOOST_TEST(told(9) == 1u);
  BOOST_TEST(told(10) == 0u);  // somebody is on its way to every stage
}

BOOST_AUTO_TEST_CASE(while_the_swarm_gathers_stages_get_what_a_run_needs_to_begin) {
  PlacementOptions options;
  options.min_peers_per_stage = 2;
  options.min_peers = 5;
  Roster nobody(2);
  Relocation relocation(2, false, options, nobody);
  relocation.begin(RelocationWorld::kTerm, 0s);
  std::vector<uint32_t> sizes(2, 0);
  for (uint32_t n = 1; n <= 6; ++n) {
    const auto told = relocation.wants_stage(peer(n, "stage.0"), "n", 1e6, 0s);
    BOOST_TEST((told.number != 0) == (n <= 5));
    if (told.number != 0) ++sizes[told.to.value()];
  }
  BOOST_TEST(std::min(sizes[0], sizes[1]) == 2u);
}

BOOST_AUTO_TEST_CASE(newcomers_are_one_of_a_node_and_some_at_a_time) {
  RelocationWorld world;
  const auto told = [&](const PeerId& id) {
    return world.relocation.wants_stage(id, "n", 1e6, world.now).number;
  };
  BOOST_TEST(told(peer(20, "trainer")) == 0u);
  BOOST_TEST(told(peer(20, "stage.0")) != 0u);
  BOOST_TEST(told(peer(20, "stage.1")) == 0u);
  for (uint32_t n = 21; n < 36; ++n) BOOST_TEST(told(peer(n, "stage.0")) != 0u);
  BOOST_TEST(told(peer(36, "stage.0")) == 0u);
  world.relocation.lost(node(20), world.now);
  BOOST_TEST(told(peer(36, "stage.0")) != 0u);
}

BOOST_AUTO_TEST_CASE(who_said_nothing_of_the_order_by_which_it_left_is_a_peer_again) {
  RelocationWorld world;
  world.period();
  world.leave(3);
  world.relocation.comes_back(peer(3), {0, 0, 0, true, 1, RelocationWorld::kTerm}, world.now);
  BOOST_TEST(world.relocation.left_by(peer(3)) == 1u);
  world.relocation.comes_back(peer(3), {}, world.now);
  BOOST_TEST(world.relocation.left_by(peer(3)) == 0u);
  BOOST_TEST(world.noted<MoveGivenUp>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_takes_another_state_does_not_leave) {
  RelocationWorld world;
  world.period();
  world.facts(3).serving = false;
  BOOST_TEST((world.ask(3).kind == Kind::kLater));
  BOOST_TEST(world.tell(3, 1).number == 1u);
  world.facts(3).state_bytes = 10;  // it learns
  BOOST_TEST(world.tell(3, 1).number == 0u);
  BOOST_TEST(world.noted<MoveGivenUp>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_leaves_for_those_that_may_be_gone) {
  RelocationWorld world;
  world.period();
  for (uint32_t n : {4u, 5u}) world.facts(n).commit_pending = true;
  BOOST_TEST((world.ask(3).kind == Kind::kLater));
  world.facts(5).commit_pending = false;
  BOOST_TEST((world.ask(3).kind == Kind::kYes));
  RelocationWorld silent;
  silent.period();
  silent.now += 4s;
  BOOST_TEST((silent.ask(3).kind == Kind::kLater));
  for (uint32_t n : {5u, 6u}) silent.tell(n);
  BOOST_TEST((silent.ask(3).kind == Kind::kYes));
}

BOOST_AUTO_TEST_CASE(after_a_loss_those_that_may_come_back_are_waited_for) {
  RelocationWorld world;
  world.now += 59s;
  for (uint32_t n = 1; n <= 6; ++n) world.tell(n);
  world.lose(2);
  world.relocation.lost(node(2), world.now);
  for (int second = 0; second < 9; ++second) world.relocation.look(true, world.now += 1s);
  BOOST_TEST(world.noted<MoveOrdered>().empty());
  world.relocation.look(true, world.now += 1s);
  const auto orders = world.noted<MoveOrdered>();
  BOOST_REQUIRE(!orders.empty());
  BOOST_TEST((orders[0].order.why == PlacementOrder::Why::kFloor));
}

BOOST_AUTO_TEST_CASE(a_stage_that_nobody_serves_waits_for_nobody) {
  RelocationWorld world;
  world.now += 30s;
  for (uint32_t n = 1; n <= 6; ++n) world.tell(n);
  world.relocation.look(true, world.now);
  for (uint32_t n : {1u, 2u}) {
    world.roster.remove(peer(n));
    world.relocation.lost(node(n), world.now);
  }
  world.relocation.look(true, world.now += 1s);
  BOOST_TEST(world.noted<MoveOrdered>().size() >= 1u);
}

// It may have trained since: the round that it waited for has not all of that.
BOOST_AUTO_TEST_CASE(asynchronously_who_did_not_show_its_order_waits_for_another_round) {
  ScheduleWorld<AsyncSchedule> world;
  for (uint32_t n : {5u, 6u}) world.add(n);
  Relocation relocation(2, true, {}, world.roster);
  relocation.begin(RelocationWorld::kTerm, world.now);
  world.open(0);
  relocation.look(true, world.now);
  const auto tell = [&](uint32_t n, uint64_t moves_by = 0) {
    relocation.registered(peer(n), {1, 0, 1, true, moves_by, RelocationWorld::kTerm}, world.now);
  };
  for (uint32_t n = 1; n <= 6; ++n) tell(n);
  BOOST_REQUIRE(relocation.send("n3", Stage(0), world.now).ok());
  const auto ask = [&] {
    return relocation.may_leave(peer(3), 1, RelocationWorld::kTerm, world.schedule, world.now).kind;
  };
  const auto round = [&] {
    for (const auto& end : all_of<orders::EndPeriod>(world.carry_all()))
      for (const PeerId& id : end.members)
        world.schedule.period_answered({end.stage, end.round, end.period, id},
                                       PeriodAnswer{5, 1, 0, {}}, world.now);
  };
  tell(3, 1);
  BOOST_TEST((ask() == Kind::kLater));
  round();
  tell(3);  // it served on
  tell(3, 1);
  BOOST_TEST((ask() == Kind::kLater));
  round();
  BOOST_TEST((ask() == Kind::kYes));
}

BOOST_AUTO_TEST_SUITE_END()
