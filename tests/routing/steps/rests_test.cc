// Peers that hang, or fail again and again.
#include <boost/test/unit_test.hpp>

#include "routing/steps/async_schedule.h"
#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

template <class Kind>
struct RestsWorld : ScheduleWorld<Kind> {
  using Base = ScheduleWorld<Kind>;
  using Base::Base, Base::facts, Base::now, Base::schedule;
  Orders said;

  Verdict registers(uint32_t n) {
    said.clear();
    return schedule.admit(peer(n), said, now);
  }
  Verdict registers_hung(uint32_t n, Time job = 61s) {
    facts(n).device = {job, 1s, 70s};
    return registers(n);
  }
  /// Its device has hung twice.
  void rest(uint32_t n) {
    registers_hung(n);
    facts(n).device = {};
    registers(n);
    registers_hung(n);
    facts(n).device = {};
  }
  Orders vanishes(uint32_t n) { return schedule.vanishes(peer(n), now); }
};

using World = RestsWorld<SyncSchedule>;
using Kind = Verdict::Kind;

orders::CloseStep close_of_stage_0(const Orders& orders) {
  for (const auto& one : all_of<orders::CloseStep>(orders))
    if (one.stage == Stage(0)) return one;
  BOOST_FAIL("no CloseStep of stage 0");
  return {};
}

/// Peer 1 fails for the silence of peer 2.
Orders silent_round(World& world, const Orders& filled) {
  const auto close = close_of_stage_0(filled);
  const uint32_t second = close.members[1].peer == peer(2) ? 1 : 0;
  world.close_missed(close, peer(1), second);
  return world.tick(600ms);
}

/// A step with such a round, which goes on without peer 2. What was said when that was known.
Orders silent_step(World& world, uint64_t step) {
  const auto filled = world.carry_all();
  const auto silent = silent_round(world, filled);
  Orders averaged = world.close_all(silent);
  for (const auto& close : all_of<orders::CloseStep>(filled))
    if (close.stage == Stage(1))
      for (uint32_t n : {3u, 4u}) World::append(averaged, world.closed(close, peer(n)));
  world.commit_all(averaged);
  world.all_at(step + 1);
  world.facts(2).checksum = 8;
  world.facts(2).checksum_step = Step(step + 1);
  return silent;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(Rests)

BOOST_AUTO_TEST_CASE(a_peer_whose_device_hangs_is_lost_for_its_microbatches) {
  World world;
  world.open(0);
  world.carry(Step(0), world.schedule.lease(peer(50, "trainer"), 1, 1e9).slots.at(0).lease);
  const auto verdict = world.registers_hung(1);
  BOOST_TEST((verdict.kind == Kind::kWait));
  const auto lost = noted<facts::PeerLost>(world.said);
  BOOST_REQUIRE(lost.size() == 1u);
  BOOST_TEST(lost[0].peer == peer(1));
  BOOST_TEST(lost[0].reason.find("61 s") != std::string::npos);
  BOOST_TEST(noted<facts::Recompute>(world.said).size() == 1u);
  BOOST_TEST(!world.facts(1).serving);
  BOOST_TEST((world.registers_hung(1, 62s).kind == Kind::kWait));  // and does not come in
  BOOST_TEST(noted<facts::PeerLost>(world.said).empty());
  world.facts(1).device = {};
  BOOST_TEST((world.registers(1).kind == Kind::kServe));
}

BOOST_AUTO_TEST_CASE(the_only_peer_of_a_stage_may_hang) {
  World world;
  world.open(0);
  world.facts(2).serving = false;
  BOOST_TEST((world.registers_hung(1).kind == Kind::kServe));
}

BOOST_AUTO_TEST_CASE(a_node_whose_device_hangs_twice_rests_and_learns_meanwhile) {
  World world;
  world.open(0);
  world.rest(1);
  const auto rests = noted<facts::PeerRests>(world.said);
  BOOST_REQUIRE(rests.size() == 1u);
  BOOST_TEST(rests[0].peer == peer(1));
  BOOST_TEST((rests[0].rests == Time(1min)));
  const auto verdict = world.registers(1);
  BOOST_TEST((verdict.kind == Kind::kFetch));
  BOOST_TEST((verdict.sources == std::vector<PeerId>{peer(2)}));
  BOOST_TEST(verdict.step == Step(1));  // the next one, as a reader
  BOOST_TEST(!world.facts(1).serving);
  BOOST_TEST(world.roster.newcomers(Step(0)).empty());
  const auto over = noted<facts::RestEnds>(world.tick(61s));
  BOOST_REQUIRE(over.size() == 1u);
  BOOST_TEST(over[0].node == "n1");
  BOOST_TEST((world.registers(1).kind == Kind::kServe));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_started_again_still_rests) {
  World world;
  world.open(0);
  world.rest(1);
  world.lose(1);
  auto& again = world.add(9);
  again.stage = Stage(0);
  again.node_name = "n1";
  again.serving = false;
  BOOST_TEST((world.registers(9).kind == Kind::kFetch));
}

BOOST_AUTO_TEST_CASE(without_rests_nobody_rests) {
  auto options = World::standard();
  options.rests = false;
  World world(options);
  world.open(0);
  world.rest(1);
  BOOST_TEST(noted<facts::PeerRests>(world.said).empty());
  BOOST_TEST((world.registers(1).kind == Kind::kServe));
}

BOOST_AUTO_TEST_CASE(who_rests_is_called_back_when_its_stage_has_lost_the_others) {
  World world;
  world.open(0);
  world.rest(1);
  BOOST_TEST(!gather_reason(world.lose(2)).empty());
  world.schedule.close();
  world.facts(1).serving = true;  // as a gathering does
  const auto orders = world.open(0);
  BOOST_TEST(world.facts(1).serving);
  const auto over = noted<facts::RestEnds>(orders);
  BOOST_REQUIRE(over.size() == 1u);
  BOOST_TEST(over[0].reason == "its stage has nobody else");
}

BOOST_AUTO_TEST_CASE(a_gathering_ends_no_rest_where_others_serve) {
  World world;
  world.open(0);
  world.rest(1);
  world.schedule.close();
  world.facts(1).serving = true;
  const auto asked = all_of<orders::AskToRegister>(world.open(0));
  BOOST_REQUIRE(asked.size() == 1u);
  BOOST_TEST(asked[0].peer == peer(1));
  BOOST_TEST(!world.facts(1).serving);
  BOOST_TEST((world.registers(1).kind == Kind::kFetch));
}

BOOST_AUTO_TEST_CASE(of_two_that_rest_one_comes_back_when_nobody_else_is_here) {
  World world;
  world.add(9).stage = Stage(0);
  world.open(0);
  world.rest(1);
  world.rest(2);
  world.roster.remove(peer(9));
  world.schedule.close();
  world.facts(1).serving = world.facts(2).serving = true;
  world.open(0);
  BOOST_TEST(world.facts(1).serving + world.facts(2).serving == 1);
}

BOOST_AUTO_TEST_CASE(at_the_end_of_the_run_nobody_rests) {
  World world;
  world.open(0);
  world.rest(1);
  world.schedule.close();
  world.all_at(10);
  world.facts(1).serving = true;
  world.open(10);
  BOOST_TEST(world.facts(1).serving);
}

BOOST_AUTO_TEST_CASE(who_is_silent_in_three_rounds_rests) {
  World world;
  world.open(0);
  for (uint64_t step = 0; step < 3; ++step) {
    BOOST_TEST(world.facts(2).serving);
    const auto said = silent_step(world, step);
    BOOST_TEST(!world.facts(2).serving);
    BOOST_TEST(noted<facts::PeerRests>(said).size() == (step == 2 ? 1u : 0u));
    BOOST_TEST(world.schedule.frame().open.step == Step(step + 1));
    const auto verdict = world.registers(2);
    BOOST_TEST((verdict.kind == (step == 2 ? Kind::kFetch : Kind::kServe)));
  }
}

// A device that hung was let in again at once and held the next round up, and the next.
BOOST_AUTO_TEST_CASE(who_was_silent_in_a_round_comes_in_when_its_device_has_done_that_job) {
  World world;
  world.open(0);
  world.facts(2).device.job = 2s;
  silent_round(world, world.carry_all());
  world.facts(2).device.job = 3s;
  BOOST_TEST((world.registers(2).kind == Kind::kWait));
  world.now += 1s;
  world.facts(2).device.job = 500ms;
  BOOST_TEST((world.registers(2).kind == Kind::kServe));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_member_that_is_gone_is_not_blamed) {
  World world;
  world.add(9).stage = Stage(0);
  world.open(0);
  const auto close = close_of_stage_0(world.carry_all());
  world.roster.remove(peer(9));  // told of later
  world.close_failed(close, peer(1), ErrorCode::kPeerTimeout);
  world.tick(600ms);
  BOOST_TEST(!world.facts(2).silent_at.has_value());
}

BOOST_AUTO_TEST_CASE(who_waits_for_one_that_failed_by_itself_is_not_blamed) {
  World world;
  world.open(0);
  world.close_failed(close_of_stage_0(world.carry_all()), peer(1), ErrorCode::kInternal);
  world.tick(600ms);
  BOOST_TEST(!world.facts(2).silent_at.has_value());
}

BOOST_AUTO_TEST_CASE(updates_that_do_not_end_make_a_node_rest) {
  World world;
  world.open(0);
  Orders said;
  for (int step = 0; step < 2; ++step) {
    Orders commits = world.close_all(world.carry_all());
    for (const auto& commit : all_of<orders::CommitStep>(commits)) {
      if (commit.peer == peer(2))
        World::append(said, world.schedule.commit_answered(
                                peer(2), Error{ErrorCode::kPeerTimeout, "a test"}, world.now));
    }
    commits.erase(std::remove_if(commits.begin(), commits.end(),
                                 [](const Order& one) {
                                   const auto* commit = std::get_if<orders::CommitStep>(&one);
                                   return commit != nullptr && commit->peer == peer(2);
                                 }),
                  commits.end());
    World::append(said, world.commit_all(commits));
    if (step == 0) world.facts(2).serving = true;
  }
  BOOST_TEST(noted<facts::PeerRests>(said).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_peer_that_vanishes_twenty_times_rests) {
  World world;
  world.open(0);
  for (int loss = 1; loss <= 20; ++loss) {
    world.now += 10s;
    const auto said = world.vanishes(2);
    BOOST_TEST(noted<facts::PeerRests>(said).size() == (loss == 20 ? 1u : 0u));
    BOOST_TEST(all_of<orders::AskToRegister>(said).empty());  // it is gone
  }
}

BOOST_AUTO_TEST_CASE(asynchronously_who_rests_waits) {
  auto options = World::standard();
  options.learns_on = false;
  RestsWorld<AsyncSchedule> world(options);
  world.open(0);
  world.rest(1);
  BOOST_TEST((world.registers(1).kind == Kind::kWait));
  world.now += 61s;
  BOOST_TEST((world.registers(1).kind == Kind::kServe));
}

BOOST_AUTO_TEST_SUITE_END()
