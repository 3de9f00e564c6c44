#include "routing/membership/placement.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using std::chrono::seconds;
using swarm::testing::peer;
using Standing = PlacedPeer::Standing;
using Why = PlacementOrder::Why;

namespace {

constexpr auto kPeriod = seconds(60);

/// Peers of stages; all carry `per_s` microbatches a second at full work, and are as busy as the slowest
/// stage lets them.
struct World {
  explicit World(const std::vector<uint32_t>& sizes) {
    view.state_bytes.assign(sizes.size(), 1e9);
    for (uint32_t stage = 0; stage < sizes.size(); ++stage)
      for (uint32_t i = 0; i < sizes[stage]; ++i) add(stage);
    tell(Time(0));
  }
  PlacedPeer& add(uint32_t stage, double speed = 1) {
    view.peers.push_back({peer(++last), Stage(stage), Standing::kMovable, {}, 1e8});
    speeds.push_back(speed);
    return view.peers.back();
  }
  /// Everybody reports.
  void tell(Time now) {
    std::vector<double> carries(view.state_bytes.size(), 0);
    for (size_t i = 0; i < view.peers.size(); ++i)
      carries[view.peers[i].stage.value()] += speeds[i];
    const double flow = *std::min_element(carries.begin(), carries.end());
    for (size_t i = 0; i < view.peers.size(); ++i) {
      PlacedPeer& one = view.peers[i];
      const double part = flow / carries[one.stage.value()];
      one.report = {one.stage, now, part, part == 1 ? 3.0 : 0.0, part * speeds[i]};
    }
  }
  /// All orders are carried out at once.
  void obey(const PlacementDecision& decision) {
    for (const auto& order : decision.orders)
      for (PlacedPeer& one : view.peers)
        if (one.id == order.peer) one.stage = order.to;
  }
  std::vector<uint32_t> sizes() const {
    std::vector<uint32_t> all(view.state_bytes.size(), 0);
    for (const PlacedPeer& one : view.peers) ++all[one.stage.value()];
    return all;
  }

  uint32_t last = 0;
  PlacementView view;
  std::vector<double> speeds;
};

PlacementDecision after_a_period(World& world, PlacementOptions options = {}) {
  Placement placement(static_cast<uint32_t>(world.view.state_bytes.size()), options, Time(0));
  world.tell(kPeriod);
  return placement.decide(world.view, kPeriod);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(PlacementTest)

BOOST_AUTO_TEST_CASE(seven_one_one_is_even_within_three_periods_and_stays_so) {
  for (const uint32_t floor : {1u, 2u, 3u}) {
    World world({7, 1, 1});
    PlacementOptions options;
    options.floor = floor;
    Placement placement(3, options, Time(0));
    for (int period = 1; period <= 3; ++period) {
      world.tell(period * kPeriod);
      world.obey(placement.decide(world.view, period * kPeriod));
    }
    BOOST_TEST(world.sizes() == std::vector<uint32_t>(3, 3), boost::test_tools::per_element());
    for (int period = 4; period <= 20; ++period) {
      world.tell(period * kPeriod);
      BOOST_TEST(placement.decide(world.view, period * kPeriod).orders.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(an_order_says_why_with_numbers) {
  World world({2, 5});
  const auto decision = after_a_period(world);
  BOOST_REQUIRE(decision.orders.size() == 1u);
  const auto& order = decision.orders[0];
  BOOST_TEST((order.why == Why::kLoad && order.from == Stage(1) && order.to == Stage(0)));
  BOOST_TEST(order.from_load == 0.4, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(order.to_load == 1.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(order.from_after == 0.5, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(order.to_after == 2.0 / 3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(order.from_peers == 5u);
  BOOST_TEST(order.to_peers == 2u);
  BOOST_TEST(order.cost_s == 20, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(order.gain_s == 3580.0 / 3 - 0.2 * 20, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(who_moves_is_the_least_loaded_and_of_equals_the_one_with_the_quicker_link) {
  World world({2, 5});
  world.view.peers[4].bytes_per_s = 1e9;
  BOOST_TEST(after_a_period(world).orders.at(0).peer == world.view.peers[4].id);
  Placement placement(2, {}, Time(0));
  world.view.peers[5].report->queued = -0.0;
  world.view.peers[5].report->running *= 0.5;
  world.view.peers[5].report->done_per_s *= 0.5;
  BOOST_TEST(placement.decide(world.view, kPeriod).orders.at(0).peer == world.view.peers[5].id);
}

BOOST_AUTO_TEST_CASE(a_stage_with_twice_the_work_gets_twice_the_peers) {
  World world({6, 6});
  for (size_t i = 6; i < 12; ++i) world.speeds[i] = 0.5;
  Placement placement(2, {}, Time(0));
  for (int period = 1; period <= 5; ++period) {
    // Who comes to the second stage takes as long as the others there.
    for (size_t i = 0; i < 12; ++i) world.speeds[i] = world.view.peers[i].stage.value() ? 0.5 : 1;
    world.tell(period * kPeriod);
    world.obey(placement.decide(world.view, period * kPeriod));
  }
  BOOST_TEST(world.sizes() == std::vector<uint32_t>({4, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_quick_peer_counts_for_more_than_one) {
  World world({2, 5});
  world.speeds[4] = 2;
  for (size_t i = 2; i < 7; ++i)
    if (i != 4) world.view.peers[i].standing = Standing::kStays;
  const auto order = after_a_period(world).orders.at(0);
  BOOST_TEST(order.from_after == 2.0 / 4, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(order.to_after == 2.0 / 4, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_queue_before_a_stage_does_not_drain_the_others_into_it) {
  World world({4, 4, 4});
  for (PlacedPeer& one : world.view.peers)
    if (one.stage == Stage(0)) one.report->queued = 100;
  Placement placement(3, {}, Time(0));
  const auto decision = placement.decide(world.view, kPeriod);
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST(to_string(decision.hold) == "even");
}

BOOST_AUTO_TEST_CASE(a_stage_keeps_its_floor_whatever_the_load) {
  World world({2, 2, 2});
  for (size_t i = 0; i < 4; ++i) world.speeds[i] = 100;
  const auto decision = after_a_period(world);
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST(to_string(decision.hold) == "no_giver");
}

BOOST_AUTO_TEST_CASE(below_its_floor_a_stage_is_filled_before_the_period_ends) {
  World world({1, 4, 3});
  Placement placement(3, {}, Time(0));
  const auto decision = placement.decide(world.view, seconds(1));
  BOOST_REQUIRE(decision.orders.size() == 1u);
  BOOST_TEST((decision.orders[0].why == Why::kFloor));
  BOOST_TEST((decision.orders[0].from == Stage(1)));
  BOOST_TEST(placement.decide(world.view, seconds(2)).orders.empty());  // it is under way
}

BOOST_AUTO_TEST_CASE(an_empty_stage_is_taken_over_but_never_by_a_last_peer) {
  World world({0, 1, 1});
  Placement placement(3, {}, Time(0));
  const auto decision = placement.decide(world.view, seconds(1));
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST(to_string(decision.hold) == "no_giver");
  world.add(1);
  world.tell(seconds(2));
  const auto next = placement.decide(world.view, seconds(2));
  BOOST_REQUIRE(next.orders.size() == 1u);
  BOOST_TEST((next.orders[0].to == Stage(0)));
}

BOOST_AUTO_TEST_CASE(newcomers_go_where_they_are_needed_most_at_once) {
  World world({4, 2, 3});
  for (uint32_t i = 100; i < 104; ++i) world.view.newcomers.push_back({peer(i), 0});
  world.view.newcomers.push_back({peer(100), 0});               // twice
  world.view.newcomers.push_back({world.view.peers[0].id, 0});  // has a stage
  Placement placement(3, {}, Time(0));
  std::vector<uint32_t> to;
  for (const auto& order : placement.decide(world.view, seconds(1)).orders) {
    BOOST_TEST((order.why == Why::kNewcomer && !order.from));
    to.push_back(order.to.value());
  }
  BOOST_TEST(to == std::vector<uint32_t>({1, 1, 2, 0}), boost::test_tools::per_element());
  BOOST_TEST(placement.decide(world.view, seconds(2)).orders.empty());
}

BOOST_AUTO_TEST_CASE(a_move_has_to_pay) {
  World world({2, 5});
  world.view.state_bytes[0] = 1e8 * 3000;  // 3,010 s of the hour in which it has to pay
  const auto decision = after_a_period(world);
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST(to_string(decision.hold) == "cost");
}

BOOST_AUTO_TEST_CASE(where_there_is_little_to_do_nobody_moves) {
  World world({2, 5});
  for (PlacedPeer& one : world.view.peers) {
    one.report->running *= 0.1;
    one.report->done_per_s *= 0.1;
    one.report->queued = 0;
  }
  Placement placement(2, {}, Time(0));
  const auto decision = placement.decide(world.view, kPeriod);
  BOOST_TEST(decision.orders.empty());
  BOOST_TEST(to_string(decision.hold) == "not_busy");
}

BOOST_AUTO_TEST_CASE(a_stage_whose_peers_are_silent_gives_none) {
  World world({2, 6});
  Placement placement(2, {}, Time(0));
  BOOST_TEST(to_string(placement.decide(world.view, seconds(600)).hold) == "no_reports");
  world.tell(seconds(700));
  for (size_t i = 3; i < 8; ++i) world.view.peers[i].report->at = seconds(1);
  BOOST_TEST(placement.decide(world.view, seconds(700)).orders.empty());
  world.view.peers[3].report->at = world.view.peers[4].report->at = seconds(700);
  BOOST_TEST(placement.decide(world.view, seconds(760)).orders.size() == 1u);  // 3 spoke: 1 may go
}

BOOST_AUTO_TEST_CASE(what_is_no_number_or_of_another_stage_says_nothing) {
  World world({2, 5});
  const auto bad = std::numeric_limits<double>::quiet_NaN();
  for (size_t i = 2; i < 7; ++i) world.view.peers[i].report->running = i % 2 ? bad : -1;
  Placement placement(2, {}, Time(0));
  BOOST_TEST(placement.decide(world.view, kPeriod).orders.empty());
  world.tell(kPeriod);
  for (size_t i = 2; i < 7; ++i) world.view.peers[i].report->stage = Stage(0);
  BOOST_TEST(placement.decide(world.view, 2 * kPeriod).orders.empty());
  world.view.peers.push_back({peer(99), Stage(7), Standing::kMovable, {}, 0});  // there is none
  BOOST_TEST(placement.decide(world.view, 3 * kPeriod).orders.empty());
}

BOOST_AUTO_TEST_CASE(one_that_tells_wonders_counts_as_a_few) {
  World world({5, 5});
  world.speeds[0] = 1e9;
  world.tell(Time(0));
  const StageLoads loads(2, {&world.view.peers[0], &world.view.peers[1], &world.view.peers[2]},
                         Time(0), seconds(1));
  BOOST_TEST(loads.speed(world.view.peers[0]) == 8);
  BOOST_TEST(loads.speed(world.view.peers[1]) == 1);
}

BOOST_AUTO_TEST_CASE(learners_count_for_their_stage_and_give_nothing) {
  World world({2, 6});
  for (int i = 0; i < 3; ++i) world.add(0).standing = Standing::kLearns;
  Placement placement(2, {}, Time(0));
  BOOST_TEST(placement.decide(world.view, kPeriod).orders.empty());
}

BOOST_AUTO_TEST_CASE(who_drains_or_is_to_stay_is_not_moved) {
  World world({2, 5});
  for (size_t i = 2; i < 7; ++i)
    world.view.peers[i].standing = i < 4 ? Standing::kStays : Standing::kLeaves;
  BOOST_TEST(after_a_period(world).orders.empty());
}

BOOST_AUTO_TEST_CASE(no_more_than_a_part_of_the_swarm_is_under_way) {
  World world({20, 2, 2});
  PlacementOptions options;
  options.most_moving = 0.1;
  Placement placement(3, options, Time(0));
  BOOST_TEST(placement.decide(world.view, kPeriod).orders.size() == 3u);
  world.tell(2 * kPeriod);
  BOOST_TEST(placement.decide(world.view, 2 * kPeriod).orders.empty());
  placement.lost(world.view.peers[0].id.node);
  BOOST_TEST(placement.under_way() == 2u);
}

BOOST_AUTO_TEST_CASE(a_mover_stays_if_its_stage_needs_it_by_now) {
  World world({2, 4});
  Placement placement(2, {}, Time(0));
  const auto order = placement.decide(world.view, kPeriod).orders.at(0);
  BOOST_TEST(placement.may_leave(order.peer, world.view, kPeriod));
  auto& peers = world.view.peers;
  const auto others = [&](const PlacedPeer& one) {
    return one.stage == Stage(1) && one.id != order.peer;
  };
  for (int i = 0; i < 2; ++i) peers.erase(std::find_if(peers.begin(), peers.end(), others));
  BOOST_TEST(!placement.may_leave(order.peer, world.view, kPeriod));
  placement.cancel(order.peer, kPeriod);
  BOOST_TEST(!placement.may_leave(order.peer, world.view, kPeriod));  // it has no order
  BOOST_TEST(placement.under_way() == 0u);
}

BOOST_AUTO_TEST_CASE(who_refused_rests_and_what_takes_too_long_is_given_up) {
  World world({2, 4});
  Placement placement(2, {}, Time(0));
  const auto first = placement.decide(world.view, kPeriod).orders.at(0).peer;
  placement.cancel(first, kPeriod);
  world.tell(2 * kPeriod);
  const auto second = placement.decide(world.view, 2 * kPeriod).orders.at(0).peer;
  BOOST_TEST(second != first);
  // The order was lost: 20 s become 3 x 20 + 60 before another one is asked.
  world.tell(3 * kPeriod);
  BOOST_TEST(placement.decide(world.view, 3 * kPeriod).orders.empty());
  world.tell(4 * kPeriod);
  placement.decide(world.view, 4 * kPeriod);
  world.tell(5 * kPeriod);
  BOOST_TEST(placement.decide(world.view, 5 * kPeriod).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_stage_keeps_what_a_run_needs_to_begin) {
  World world({3, 3, 3, 3});
  for (size_t i = 3; i < 6; ++i) world.speeds[i] = 0.4;
  PlacementOptions options;
  BOOST_TEST(!after_a_period(world, options).orders.empty());
  options.min_peers_per_stage = 3;
  BOOST_TEST(after_a_period(world, options).orders.empty());
}

BOOST_AUTO_TEST_CASE(a_death_lowers_no_floor_for_two_periods) {
  World world({2, 2, 2, 2});
  world.speeds[0] = world.speeds[1] = 0.2;
  Placement placement(4, {}, Time(0));
  world.tell(kPeriod);
  placement.decide(world.view, kPeriod);
  world.view.peers.pop_back();  // of stage 3
  world.speeds.pop_back();
  const auto orders = [&](int period) {
    world.tell(period * kPeriod);
    return placement.decide(world.view, period * kPeriod).orders.size();
  };
  BOOST_TEST(orders(2) == 0u);
  BOOST_TEST(orders(3) == 0u);
  BOOST_TEST(orders(4) > 0u);
}

BOOST_AUTO_TEST_CASE(an_empty_stage_is_filled_though_peers_were_more) {
  World world({2, 2, 2, 2});
  Placement placement(4, {}, Time(0));
  world.tell(kPeriod);
  placement.decide(world.view, kPeriod);
  world.view.peers.resize(6);
  world.speeds.resize(6);
  const auto decision =
      placement.decide(world.view, kPeriod + seconds(1), Placement::Scope::kUrgent);
  BOOST_REQUIRE(decision.orders.size() == 1u);
  BOOST_TEST((decision.orders[0].to == Stage(3)));
}

BOOST_AUTO_TEST_CASE(what_is_urgent_is_a_stage_that_nobody_serves) {
  World world({4, 1});
  Placement placement(2, {}, Time(0));
  const auto urgent = [&] {
    return placement.decide(world.view, Time(0), Placement::Scope::kUrgent).orders.size();
  };
  BOOST_TEST(urgent() == 0u);
  world.view.peers.back().standing = Standing::kLearns;
  BOOST_TEST(urgent() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
