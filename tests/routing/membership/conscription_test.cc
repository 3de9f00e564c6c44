#include "routing/membership/conscription.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;
using swarm::testing::peer;

namespace {

using Hold = ConscriptionHold;

/// Three stages of two peers at step 9, whose last snapshots are of step 8: 1 and 2 serve stage 0, 3 and 4
/// stage 1, 5 and 6 stage 2. Number 5 has a copy of stage 1.
struct World {
  explicit World(bool asynchronous = false, uint32_t min_peers_per_stage = 1, Time gone_after = 10s)
      : conscription(3, {gone_after, min_peers_per_stage, asynchronous}) {
    for (uint32_t n = 1; n <= 6; ++n) add(n, (n - 1) / 2);
    of(5).copies = {{Stage(1), Step(8)}};
    muster.sent.resize(3);
    muster.agreed = muster.complete = true;
  }
  MusteredPeer& add(uint32_t n, uint32_t stage) {
    MusteredPeer one;
    one.supply = {peer(n), Stage(stage), true, Step(9), {Step(8)}, {}, {}};
    one.node_name = "n" + std::to_string(n);
    one.may_move = one.leaves_copies = true;
    muster.peers.push_back(one);
    return muster.peers.back();
  }
  MusteredPeer& at(uint32_t n) {
    return *std::find_if(muster.peers.begin(), muster.peers.end(),
                         [n](const auto& one) { return one.supply.peer == peer(n); });
  }
  PeerSupply& of(uint32_t n) { return at(n).supply; }
  void lose(uint32_t n) {
    auto& all = muster.peers;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [n](const auto& one) { return one.supply.peer == peer(n); }),
              all.end());
  }
  void lose_stage_1() {
    lose(3);
    lose(4);
  }
  /// All are known who have registered.
  ConscriptionDecision decide(Time later = 0s) {
    muster.own.assign(3, 0);
    for (const auto& one : muster.peers) ++muster.own[one.supply.stage.value()];
    return conscription.decide(muster, now += later);
  }
  /// As decide(), when the stage is lost.
  ConscriptionDecision lost() {
    decide();
    return decide(10s);
  }

  Time now = 1'000s;
  Muster muster;
  Conscription conscription;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ConscriptionTest)

BOOST_AUTO_TEST_CASE(a_stage_that_is_gone_for_long_is_given_a_peer_of_another) {
  World world;
  BOOST_TEST(world.decide().orders.empty());
  world.lose_stage_1();
  BOOST_TEST((world.decide().hold == Hold::kWaits));
  BOOST_TEST(world.conscription.acts());
  BOOST_TEST(world.decide(9s).orders.empty());
  const auto decision = world.decide(1s);
  BOOST_REQUIRE(decision.orders.size() == 1u);
  const ConscriptionOrder& order = decision.orders[0];
  BOOST_TEST(order.peer == peer(5));  // it has a copy
  BOOST_TEST(order.has_copy);
  BOOST_TEST((order.from == Stage(2) && order.to == Stage(1)));
  BOOST_TEST((order.step == Step(8)));
  BOOST_TEST((order.from_peers == 2u && order.to_peers == 0u));
}

BOOST_AUTO_TEST_CASE(who_comes_back_sooner_serves_as_before_and_the_time_begins_anew) {
  World world;
  world.lose_stage_1();
  world.decide();
  world.decide(9s);
  world.add(7, 1);
  BOOST_TEST((world.decide(5s).hold == Hold::kNone));
  world.lose(7);
  world.decide();
  BOOST_TEST(world.decide(9s).orders.empty());
  BOOST_TEST(world.decide(1s).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(one_that_is_known_and_does_not_register_is_no_loss) {
  World world;
  world.lose(3);
  world.muster.own = {2, 1, 2};
  world.lose(4);
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(world.conscription.decide(world.muster, world.now += 60s).orders.empty());
}

BOOST_AUTO_TEST_CASE(most_peers_come_first_then_a_copy_then_the_name) {
  World world;
  world.lose_stage_1();
  world.add(7, 0);
  BOOST_TEST(world.lost().orders.at(0).peer == peer(1));
  World even;
  even.lose_stage_1();
  even.of(2).copies = {{Stage(1), Step(8)}};
  BOOST_TEST(even.lost().orders.at(0).peer == peer(2));
  World rested;
  rested.lose_stage_1();
  rested.at(5).rests = true;
  BOOST_TEST(rested.lost().orders.at(0).peer == peer(1));
}

BOOST_AUTO_TEST_CASE(a_part_with_fewer_than_half_takes_nothing_over) {
  World world;
  world.lose_stage_1();
  world.muster.agreed = false;
  const auto decision = world.lost();
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST((decision.hold == Hold::kNoQuorum));
  BOOST_TEST((decision.stage == Stage(1)));
  BOOST_TEST(!world.conscription.acts());
  world.muster.agreed = true;  // `go-on`: the stage has been gone for long
  BOOST_TEST(world.decide(1s).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_copy_it_says_who_had_one_and_what_there_is) {
  World world;
  world.conscription.saw(Stage(1), "n3", Step(6));
  world.conscription.saw(Stage(1), "n3", Step(8));
  world.conscription.saw(Stage(1), "n3", Step(4));
  world.of(5).copies.clear();
  world.lose_stage_1();
  auto decision = world.decide();
  BOOST_TEST((decision.hold == Hold::kNoCopy));
  BOOST_TEST(!decision.tell);  // it may be a restart
  BOOST_TEST(!world.conscription.acts());
  decision = world.decide(5s);
  BOOST_TEST(decision.tell);
  BOOST_TEST(decision.missing.find("nobody has any state of stage 1") == 0u, decision.missing);
  BOOST_TEST(decision.missing.find("n3 (step 8)") != std::string::npos, decision.missing);
  for (int i = 0; i < 5; ++i) BOOST_TEST(!world.decide(60s).tell);
  world.of(1).snapshots = {Step(7)};
  BOOST_TEST(world.decide(60s).tell);
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_step_that_others_have_not_is_none) {
  World world;
  world.of(5).copies = {{Stage(1), Step(6)}};
  world.lose_stage_1();
  BOOST_TEST((world.lost().hold == Hold::kNoCopy));
}

BOOST_AUTO_TEST_CASE(the_last_peer_of_a_stage_stays) {
  World world;
  world.lose_stage_1();
  world.lose(2);
  world.lose(6);
  const auto decision = world.lost();
  BOOST_TEST((decision.hold == Hold::kNoGiver));
  BOOST_TEST(decision.missing ==
             "no stage can spare a peer: 1 of stage 0 are here, 0 of stage 1 are "
             "here, 1 of stage 2 are here, each needs 1");
  world.add(7, 0);
  BOOST_TEST(world.decide(1s).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_stage_is_not_left_to_one_that_may_be_gone) {
  World world;
  world.lose_stage_1();
  world.lose(2);
  world.at(6).here = world.at(6).may_move = false;  // it has registered, and is silent since
  BOOST_TEST((world.lost().hold == Hold::kNoGiver));
  World later;
  later.lose_stage_1();
  BOOST_REQUIRE(later.lost().orders.at(0).peer == peer(5));
  later.at(6).here = false;
  BOOST_TEST(!later.conscription.may_leave(peer(5), Stage(1), later.muster));
}

BOOST_AUTO_TEST_CASE(a_stage_that_lives_elsewhere_is_for_others_to_lead) {
  World world;
  world.lose_stage_1();
  world.muster.unreached = {0, 1, 0};
  const auto decision = world.lost();
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST((decision.hold == Hold::kNone));
  BOOST_TEST(!world.conscription.acts());  // the office may be handed on
  world.muster.unreached.clear();          // it fell silent, or all have tried
  BOOST_REQUIRE(world.decide(1s).orders.size() == 1u);
  BOOST_TEST(world.conscription.may_leave(peer(5), Stage(1), world.muster));
  world.muster.unreached = {0, 1, 0};
  BOOST_TEST(!world.conscription.may_leave(peer(5), Stage(1), world.muster));
}

// All register anew after a new ballot: for a moment nobody has.
BOOST_AUTO_TEST_CASE(a_new_ballot_of_the_same_coordinator_does_not_begin_the_time_anew) {
  World world;
  world.lose_stage_1();
  world.decide();
  const auto registered = world.muster.peers;
  world.muster.own = {2, 0, 2};
  world.muster.peers.clear();
  world.muster.complete = false;
  world.conscription.decide(world.muster, world.now += 9s);
  world.muster.peers = registered;
  world.muster.complete = true;
  BOOST_TEST(world.decide(1s).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_is_moved_where_too_few_can_be_spared_to_begin) {
  World world(false, 2);
  world.lose_stage_1();
  world.add(7, 0);
  for (auto& one : world.muster.peers) one.supply.has_state = false;
  const auto decision = world.lost();
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST((decision.hold == Hold::kNoGiver));
}

BOOST_AUTO_TEST_CASE(nobody_goes_whose_absence_would_cost_a_step) {
  World world;
  world.lose_stage_1();
  world.of(6).snapshots.clear();
  world.of(6).has_state = false;  // only 5 has stage 2
  world.at(5).leaves_copies = false;
  world.of(1).copies = {{Stage(1), Step(8)}};
  BOOST_TEST(world.lost().orders.at(0).peer == peer(1));
  World kept;  // nobody else can be spared: what 5 saved is offered to the others
  kept.lose_stage_1();
  kept.of(6).snapshots.clear();
  kept.of(6).has_state = false;
  kept.at(1).may_move = kept.at(2).may_move = kept.at(6).may_move = false;
  BOOST_TEST(kept.lost().orders.at(0).peer == peer(5));
  World alone;
  alone.lose_stage_1();
  alone.of(6).snapshots.clear();
  alone.of(6).has_state = false;
  alone.at(1).may_move = alone.at(2).may_move = alone.at(6).may_move = false;
  alone.at(5).leaves_copies = false;
  BOOST_TEST((alone.lost().hold == Hold::kNoGiver));
}

BOOST_AUTO_TEST_CASE(two_stages_at_once_are_both_taken_over) {
  World world;
  world.of(2).copies = {{Stage(1), Step(8)}, {Stage(2), Step(8)}};
  world.add(7, 0);
  world.lose_stage_1();
  world.lose(5);
  world.lose(6);
  const auto decision = world.lost();
  BOOST_REQUIRE(decision.orders.size() == 2u);
  BOOST_TEST((decision.orders[0].to == Stage(1) && decision.orders[1].to == Stage(2)));
  BOOST_TEST(decision.orders[0].peer != decision.orders[1].peer);
}

BOOST_AUTO_TEST_CASE(where_nobody_has_state_in_memory_a_stage_gets_what_a_run_needs_to_begin) {
  World world(false, 2);
  world.lose_stage_1();
  world.add(7, 0);
  world.add(8, 2);
  for (auto& one : world.muster.peers) one.supply.has_state = false;
  BOOST_TEST(world.lost().orders.size() == 2u);
  World living(false, 2);
  living.lose_stage_1();
  BOOST_TEST(living.lost().orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_is_on_the_way_is_waited_for) {
  World world;
  world.lose_stage_1();
  world.muster.sent[1] = 1;
  const auto decision = world.lost();
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST((decision.hold == Hold::kWaits));
  world.muster.sent[1] = 0;  // it is lost
  BOOST_TEST(world.decide(1s).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_is_ordered_while_some_have_not_registered) {
  World world;
  world.lose_stage_1();
  world.muster.complete = false;
  BOOST_TEST((world.lost().hold == Hold::kWaits));
}

BOOST_AUTO_TEST_CASE(a_run_that_has_not_begun_waits_for_its_peers) {
  World world;
  world.lose_stage_1();
  for (auto& one : world.muster.peers) {
    one.supply.has_state = false;
    one.supply.snapshots.clear();
    one.supply.copies.clear();
  }
  BOOST_TEST((world.lost().hold == Hold::kNone));
}

BOOST_AUTO_TEST_CASE(nought_switches_it_off) {
  World world(false, 1, 0s);
  world.lose_stage_1();
  const auto decision = world.lost();
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST((decision.hold == Hold::kNone));
}

BOOST_AUTO_TEST_CASE(stages_at_their_own_pace_go_on_from_their_newest_copy) {
  World world(true);
  world.of(5).copies = {{Stage(1), Step(6)}, {Stage(1), Step(5)}};
  world.lose_stage_1();
  const auto decision = world.lost();
  BOOST_REQUIRE(decision.orders.size() == 1u);
  BOOST_TEST((decision.orders[0].step == Step(6)));
}

BOOST_AUTO_TEST_CASE(who_asks_may_leave_as_long_as_the_stage_is_lost_and_its_own_has_others) {
  World world;
  BOOST_TEST(!world.conscription.may_leave(peer(5), Stage(1), world.muster));
  world.lose_stage_1();
  world.lost();
  BOOST_TEST(world.conscription.may_leave(peer(5), Stage(1), world.muster));
  world.muster.agreed = false;
  BOOST_TEST(!world.conscription.may_leave(peer(5), Stage(1), world.muster));
  world.muster.agreed = true;
  world.muster.own[1] = 1;
  BOOST_TEST(!world.conscription.may_leave(peer(5), Stage(1), world.muster));
  world.muster.own[1] = 0;
  world.lose(6);
  BOOST_TEST(!world.conscription.may_leave(peer(5), Stage(1), world.muster));
}

BOOST_AUTO_TEST_SUITE_END()
