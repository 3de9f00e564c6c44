// Relocation: peers of others that take over a stage of which nobody is left.
#include <boost/test/unit_test.hpp>

#include "tests/routing/membership/relocation_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using Kind = LeaveAnswer::Kind;

/// The swarm gathers, and nobody is left of stage 0, of which number 5 has a copy.
struct Lost : RelocationWorld {
  Lost() {
    all_at(4);
    for (uint32_t n = 1; n <= 6; ++n) {
      facts(n).snapshots = {Step(4)};
      facts(n).keeps_copies = true;
      tell(n);
    }
    facts(5).copies = {{Stage(0), Step(4)}};
    for (uint32_t n : {1u, 2u}) lose_node(n);
    schedule.close();
  }
  void lose_node(uint32_t n) {
    lose(n);
    relocation.lost(node(n), now);
  }
  Levy supplies() const { return {roster.supplies(), {}, true}; }
  std::vector<MoveOrdered> after(int seconds) {
    for (; seconds > 0; --seconds) {
      now += 1s;
      for (uint32_t n = 3; n <= 6; ++n)
        if (roster.find(peer(n)) != nullptr) tell(n);
      relocation.look(false, now);
      relocation.levy(supplies(), now);
    }
    return noted<MoveOrdered>();
  }
  LeaveAnswer ask_to_leave(uint32_t n, uint64_t number = 1) {
    return relocation.may_leave(peer(n), number, RelocationWorld::kTerm, schedule, now, supplies());
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(RelocationConscriptsTest)

BOOST_AUTO_TEST_CASE(a_lost_stage_is_taken_over_while_the_swarm_gathers) {
  Lost world;
  BOOST_TEST(world.after(10).empty());
  BOOST_TEST(world.relocation.conscription().acts());
  const auto orders = world.after(1);
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST((orders[0].peer == "n5" && orders[0].order.step == Step(4)));
  BOOST_TEST((orders[0].order.why == PlacementOrder::Why::kConscription));
  const auto told = world.tell(5);
  BOOST_TEST((told.number == 1u && told.conscript && told.to == Stage(0)));
  BOOST_TEST((world.ask_to_leave(6).kind == Kind::kNo));
  BOOST_TEST((world.ask_to_leave(5).kind == Kind::kYes));
  world.lose(5);
  BOOST_TEST(world.after(5).empty());
  BOOST_TEST(world.relocation.conscription().acts());
  world.comes(5, 0);
  BOOST_TEST(world.after(30).empty());
  BOOST_TEST(world.noted<MoveGivenUp>().empty());
  world.comes(5, 0, /*serving=*/true);
  BOOST_TEST(world.noted<MoveDone>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_order_is_taken_back_when_the_stage_has_a_peer_again) {
  Lost world;
  BOOST_REQUIRE(world.after(11).size() == 1u);
  world.add(1, 4);
  world.relocation.levy(world.supplies(), world.now);
  BOOST_TEST(world.noted<MoveGivenUp>().size() == 1u);
  BOOST_TEST((world.ask_to_leave(5).kind == Kind::kNo));
  BOOST_TEST(world.tell(5).number == 0u);
}

BOOST_AUTO_TEST_CASE(a_conscript_that_does_not_go_or_dies_is_followed_by_another) {
  Lost world;
  BOOST_REQUIRE(world.after(11).size() == 1u);
  const auto second = world.after(22);
  BOOST_REQUIRE(second.size() == 1u);
  BOOST_TEST(second[0].peer != "n5");
  BOOST_TEST((world.ask_to_leave(3, second[0].number).kind == Kind::kYes));
  world.lose_node(3);
  BOOST_TEST(world.after(3).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_conscript_on_its_way_has_time_to_make_its_stage) {
  Lost world;
  world.facts(6).copies = world.facts(5).copies;
  BOOST_REQUIRE(world.after(11).size() == 1u);
  BOOST_REQUIRE((world.ask_to_leave(5).kind == Kind::kYes));
  world.lose(5);
  BOOST_TEST(world.after(100).empty());
  BOOST_TEST(world.after(30).size() == 1u);  // it hangs
}

BOOST_AUTO_TEST_CASE(a_newcomer_that_does_not_come_keeps_nobody_from_a_lost_stage) {
  Lost world;
  world.now += 30s;
  BOOST_REQUIRE(world.relocation.wants_stage(peer(9), "n9", 1e6, world.now).to == Stage(0));
  world.noted<MoveOrdered>();
  BOOST_TEST(world.after(60).empty());
  BOOST_TEST(world.after(65).size() == 1u);
}

/// Ten seconds more than it takes; the only peer of a lost stage announces itself.
void levy_beside_an_announcement(Lost& world, bool others_may_lead) {
  Levy levy = world.supplies();
  levy.others_may_lead = others_may_lead;
  levy.announced[Stage(0)] = {place_of(peer(1))};
  for (int second = 0; second < 20; ++second) {
    world.now += 1s;
    for (uint32_t n = 3; n <= 6; ++n) world.tell(n);
    levy.supplies = world.roster.supplies();
    world.relocation.levy(levy, world.now);
  }
}

BOOST_AUTO_TEST_CASE(who_announces_itself_from_a_lost_stage_keeps_others_from_it) {
  Lost world;
  levy_beside_an_announcement(world, true);
  BOOST_TEST(world.noted<MoveOrdered>().empty());
  BOOST_TEST(!world.relocation.conscription().acts());
  BOOST_TEST(world.after(1).size() == 1u);
}

BOOST_AUTO_TEST_CASE(whom_nobody_that_may_lead_reaches_is_lost_though_it_announces_itself) {
  Lost world;
  levy_beside_an_announcement(world, false);
  BOOST_TEST(world.noted<MoveOrdered>().size() == 1u);
}

// Nobody else may leave while the swarm gathers: who was told to go there would be waited for in vain.
BOOST_AUTO_TEST_CASE(who_was_to_move_to_the_stage_before_it_was_lost_is_conscripted) {
  RelocationWorld world;
  world.period();
  BOOST_REQUIRE(world.noted<MoveOrdered>().size() == 1u);  // 3, to stage 0
  BOOST_REQUIRE((world.tell(3).number == 1u && !world.tell(3).conscript));
  for (uint32_t n : {1u, 2u}) {
    world.lose(n);
    world.relocation.lost(node(n), world.now);
  }
  world.schedule.close();
  for (int second = 0; second < 12; ++second) {
    world.now += 1s;
    for (uint32_t n = 3; n <= 6; ++n) world.tell(n);
    world.relocation.look(false, world.now);
    world.relocation.levy({world.roster.supplies(), {}, true}, world.now);
  }
  BOOST_TEST(world.noted<MoveOrdered>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_noted_once) {
  Lost world;
  world.facts(5).copies.clear();
  for (int second = 0; second < 60; ++second)
    world.relocation.levy(world.supplies(), world.now += 1s);
  const auto held = world.noted<ConscriptionHeld>();
  BOOST_REQUIRE(held.size() == 1u);
  BOOST_TEST((held[0].stage == Stage(0) && held[0].hold == ConscriptionHold::kNoCopy));
  BOOST_TEST(held[0].missing.find("n1 (step 4)") != std::string::npos, held[0].missing);
  BOOST_TEST(!world.relocation.conscription().acts());
}

BOOST_AUTO_TEST_SUITE_END()
