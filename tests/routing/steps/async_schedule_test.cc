#include "routing/steps/async_schedule.h"

#include <boost/test/unit_test.hpp>

#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

struct World : ScheduleWorld<AsyncSchedule> {
  using ScheduleWorld<AsyncSchedule>::ScheduleWorld;

  Orders answered(const orders::EndPeriod& end, uint32_t n, uint64_t checksum = 5) {
    return schedule.period_answered({end.stage, end.round, end.period, peer(n)},
                                    PeriodAnswer{checksum, 1, 0, {}, 3}, now);
  }
  /// It has trained on meanwhile.
  Orders took(const orders::EndPeriod& end, uint32_t n, uint64_t digest) {
    return schedule.period_answered({end.stage, end.round, end.period, peer(n)},
                                    PeriodAnswer{0, 1, 0, {}, digest}, now);
  }
  Orders failed(const orders::EndPeriod& end, uint32_t n) {
    return schedule.period_answered({end.stage, end.round, end.period, peer(n)},
                                    Error{ErrorCode::kOverloaded, "an earlier round"}, now);
  }
  /// Everybody who was asked has averaged.
  Orders answer_all(const Orders& orders) {
    Orders all;
    for (const auto& end : all_of<orders::EndPeriod>(orders))
      for (const PeerId& id : end.members)
        append(all, schedule.period_answered({end.stage, end.round, end.period, id},
                                             PeriodAnswer{5, 1, 0, {}}, now));
    return all;
  }
};

/// The EndPeriod of a stage.
orders::EndPeriod end_of(const Orders& orders, uint32_t stage) {
  for (const auto& end : all_of<orders::EndPeriod>(orders))
    if (end.stage == Stage(stage)) return end;
  BOOST_FAIL("no EndPeriod of stage " << stage);
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(AsynchronousPeriods)

BOOST_AUTO_TEST_CASE(a_full_period_ends_with_an_averaging_and_the_next_one_is_open) {
  World world;
  world.open(0);
  const auto filled = world.carry_all();
  BOOST_TEST(all_of<orders::EndPeriod>(filled).size() == 2u);
  BOOST_TEST(end_of(filled, 0).round != Round());
  BOOST_TEST(end_of(filled, 0).blocking);
  BOOST_TEST(all_of<orders::WriteMetrics>(filled).size() == 1u);
  BOOST_TEST(world.schedule.frame().open.step == Step(1));
}

BOOST_AUTO_TEST_CASE(periods_overlap_and_only_so_many) {
  auto options = World::standard();
  options.open_periods = 3;
  World world(options);
  world.open(0);
  for (uint64_t period : {0, 1, 2}) {
    const auto leases = world.schedule.lease(peer(50, "trainer"), 4, 1e9);
    BOOST_TEST(leases.slots.size() == 4u);
    BOOST_TEST(leases.step == Step(period));
    BOOST_TEST(!leases.step_waits);
  }
  BOOST_TEST(world.schedule.lease(peer(50, "trainer"), 4, 1e9).slots.empty());
}

/// It was said of the oldest open period, whose slot of that number counts.
BOOST_AUTO_TEST_CASE(a_slot_that_is_left_out_is_said_of_its_own_period) {
  auto options = World::standard();
  options.open_periods = 2;
  World world(options);
  world.open(0);
  world.schedule.lease(peer(50, "trainer"), 4, 1e9);
  std::vector<facts::SlotSkipped> skipped;
  SlotReport report;
  report.what = SlotReport::What::kNonFinite;
  report.step = Step(1);
  for (int attempt = 0; attempt < 2; ++attempt) {
    report.where = {Stage(1), peer(attempt == 0 ? 3 : 4), false, Attempt()};
    const auto leases = world.schedule.lease(peer(50, "trainer"), 1, 1e9);
    BOOST_REQUIRE(leases.slots.size() == 1u);
    BOOST_REQUIRE(leases.step == Step(1));
    report.slot = leases.slots[0].lease.slot;
    report.attempt = leases.slots[0].lease.attempt;
    const auto orders = world.schedule.slot_reported(report, world.now);
    BOOST_REQUIRE(orders.ok());
    for (const auto& fact : noted<facts::SlotSkipped>(*orders)) skipped.push_back(fact);
  }
  BOOST_REQUIRE(skipped.size() == 1u);
  BOOST_TEST(skipped[0].step == Step(1));
  BOOST_TEST(skipped[0].slot == report.slot);
}

BOOST_AUTO_TEST_CASE(averages_are_made_every_so_many_periods) {
  auto options = World::standard();
  options.average_every = 2;
  World world(options);
  world.open(0);
  BOOST_TEST(end_of(world.carry_all(), 0).round == Round());
  BOOST_TEST(end_of(world.carry_all(), 0).round != Round());
}

BOOST_AUTO_TEST_CASE(a_round_that_still_runs_is_not_begun_again) {
  World world;
  world.open(0);
  world.carry_all();
  const auto second = world.carry_all();
  BOOST_TEST(noted<facts::AveragingSkipped>(second).size() == 2u);
  BOOST_TEST(end_of(second, 0).round == Round());
}

BOOST_AUTO_TEST_CASE(replicas_are_compared_though_one_registered_before_the_last_answer) {
  World world;
  world.open(0);
  const auto end = end_of(world.carry_all(), 0);
  world.answered(end, 1, 5);
  world.roster.report(peer(1), Stage(0), "n1", world.facts(1));  // it registers every second
  const auto orders = world.answered(end, 2, 6);
  const auto compared = noted<facts::ReplicasCompared>(orders);
  BOOST_REQUIRE(compared.size() == 1u);
  BOOST_TEST(compared[0].found.replicas == 2u);
  BOOST_TEST(compared[0].found.checksums.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_replica_that_an_average_left_with_other_bits_fetches) {
  World world;
  world.open(0);
  const auto end = end_of(world.carry_all(), 0);
  world.answered(end, 1, 5);
  const auto orders = world.answered(end, 2, 6);
  const auto replaced = noted<facts::ReplicaReplaced>(orders);
  BOOST_REQUIRE(replaced.size() == 1u);
  BOOST_TEST(replaced[0].replica.peer == peer(2));
  BOOST_TEST(all_of<orders::AskToRegister>(orders).size() == 1u);
  Orders none;
  world.facts(2).step = Step(1);
  BOOST_TEST((world.schedule.admit(peer(2), none, world.now).kind == Verdict::Kind::kFetch));
  world.facts(2).checksum = 77;  // of what it has fetched: the others have trained since
  BOOST_TEST((world.schedule.admit(peer(2), none, world.now).kind == Verdict::Kind::kServe));
  world.facts(2).checksum = 0;
  BOOST_TEST((world.schedule.admit(peer(2), none, world.now).kind == Verdict::Kind::kServe));
}

BOOST_AUTO_TEST_CASE(who_took_another_average_in_the_background_fetches_too) {
  auto options = World::standard();
  options.background_averaging = true;
  World world(options);
  world.open(0);
  const auto end = end_of(world.carry_all(), 0);
  BOOST_TEST(!end.blocking);
  world.took(end, 1, 5);
  const auto orders = world.took(end, 2, 6);
  BOOST_TEST(noted<facts::ReplicasCompared>(orders).empty());  // nobody said that they are equal
  const auto differ = noted<facts::AveragesDiffer>(orders);
  BOOST_REQUIRE(differ.size() == 1u);
  BOOST_TEST(differ[0].peer == peer(2));
  const auto replaced = noted<facts::ReplicaReplaced>(orders);
  BOOST_REQUIRE(replaced.size() == 1u);
  BOOST_TEST(replaced[0].replica.checksum == 6u);
  BOOST_TEST(replaced[0].right == 5u);
  BOOST_TEST(all_of<orders::AskToRegister>(orders).size() == 1u);
  Orders none;
  world.facts(2).checksum = 0;  // of parameters that trained on
  BOOST_TEST((world.schedule.admit(peer(2), none, world.now).kind == Verdict::Kind::kFetch));
  BOOST_TEST((world.schedule.admit(peer(1), none, world.now).kind == Verdict::Kind::kServe));
}

BOOST_AUTO_TEST_CASE(equal_averages_in_the_background_say_nothing_of_the_replicas) {
  auto options = World::standard();
  options.background_averaging = true;
  World world(options);
  world.open(0);
  const auto end = end_of(world.carry_all(), 0);
  world.took(end, 1, 5);
  const auto orders = world.took(end, 2, 5);
  BOOST_TEST(noted<facts::ReplicasCompared>(orders).empty());
  BOOST_TEST(noted<facts::ReplicaReplaced>(orders).empty());
}

BOOST_AUTO_TEST_CASE(whose_weights_are_not_finite_fetches) {
  World world;
  world.open(0);
  const auto end = end_of(world.carry_all(), 0);
  PeriodAnswer answer;
  RoundFailure& failure = answer.failed.emplace();
  failure.error = Error{ErrorCode::kCancelled, "not finite"};
  failure.not_finite.push_back(1);
  world.facts(2).checksum = 0;  // it has trained
  const auto orders = world.schedule.period_answered({end.stage, end.round, end.period, peer(1)},
                                                     answer, world.now);
  BOOST_REQUIRE(noted<facts::SumNotFinite>(orders).size() == 1u);
  BOOST_TEST(noted<facts::SumNotFinite>(orders)[0].peer == peer(2));
  Orders none;
  BOOST_TEST((world.schedule.admit(peer(2), none, world.now).kind == Verdict::Kind::kFetch));
}

BOOST_AUTO_TEST_CASE(a_member_that_refuses_fails_the_round_at_once_for_itself_only) {
  World world;
  world.open(0);
  const auto end = end_of(world.carry_all(), 0);
  BOOST_TEST(noted<facts::MemberFailed>(world.failed(end, 1)).size() == 1u);
  const auto compared = noted<facts::ReplicasCompared>(world.answered(end, 2));
  BOOST_REQUIRE(compared.size() == 1u);
  BOOST_TEST(compared[0].found.replicas == 1u);
}

// A period has four slots of two samples, and two may be open.
BOOST_AUTO_TEST_CASE(what_a_member_tells_counts_up_to_what_was_leased_since_the_last_average) {
  auto options = World::standard();
  options.open_periods = 2;
  World world(options);
  world.open(0);
  const auto first = world.carry_all();
  BOOST_TEST(end_of(first, 0).most_samples == 8 * (0 + 4));  // of a coordinator that knows of none
  world.answer_all(first);
  const auto second = world.carry_all();
  BOOST_TEST(end_of(second, 0).most_samples == 8 * (1 + 4));
  for (const auto& end : all_of<orders::EndPeriod>(second)) {  // these fail
    world.failed(end, end.stage == Stage(0) ? 1 : 3);
    world.failed(end, end.stage == Stage(0) ? 2 : 4);
  }
  BOOST_TEST(end_of(world.carry_all(), 0).most_samples == 8 * (2 + 4));
}

BOOST_AUTO_TEST_CASE(
    after_a_gathering_it_counts_as_if_the_last_average_had_been_made_when_it_was_due) {
  auto options = World::standard();
  options.open_periods = 2;
  options.average_every = 3;
  World world(options);
  world.all_at(5);
  world.open(5);
  BOOST_TEST(end_of(world.carry_all(), 0).most_samples == 8 * (5 - 2 + 4));
}

BOOST_AUTO_TEST_CASE(a_lost_member_is_not_waited_for) {
  World world;
  world.open(0);
  const auto end = end_of(world.carry_all(), 0);
  world.answered(end, 1);
  BOOST_TEST(noted<facts::ReplicasCompared>(world.lose(2)).size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_last_averaging_is_tried_again_until_all_have_it) {
  World world;
  world.open(9);
  const auto end = end_of(world.carry_all(), 0);
  world.failed(end, 1);
  const auto over = world.answered(end, 2);
  const auto later = all_of<orders::Later>(over);
  BOOST_REQUIRE(later.size() == 1u);
  BOOST_TEST((later[0].what == orders::Later::What::kLastRound));
  const auto again = world.schedule.resume(later[0], world.now);
  BOOST_TEST(end_of(again, 0).round != end.round);
}

BOOST_AUTO_TEST_CASE(after_the_last_averaging_comes_the_final_validation) {
  World world;
  world.open(9);
  world.answer_all(world.carry_all());
  BOOST_TEST(world.schedule.frame().open.step == Step(10));
  const auto leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  BOOST_REQUIRE(leases.slots.size() == 1u);
  BOOST_TEST(leases.slots[0].lease.validation);
}

BOOST_AUTO_TEST_CASE(who_has_missed_the_last_averaging_is_sent_back) {
  World world;
  world.open(9);
  const auto ends = world.carry_all();
  world.add(9).stage = Stage(0);  // came in while it ran
  const auto orders = world.answer_all(ends);
  const auto asked = all_of<orders::AskToRegister>(orders);
  BOOST_REQUIRE(asked.size() == 1u);
  BOOST_TEST(asked[0].peer == peer(9));
}

BOOST_AUTO_TEST_CASE(a_successor_at_the_end_averages_once_more_unless_replicas_are_equal) {
  World world;
  world.all_at(10);
  BOOST_TEST(all_of<orders::EndPeriod>(world.open(10)).empty());
  world.schedule.close();
  world.facts(1).checksum = 99;
  const auto orders = world.open(10);
  BOOST_TEST(all_of<orders::EndPeriod>(orders).size() == 2u);
  BOOST_TEST(world.schedule.frame().open.step == Step(9));
}

BOOST_AUTO_TEST_CASE(a_stage_without_peers_makes_the_swarm_gather) {
  World world;
  world.open(0);
  world.lose(3);
  BOOST_TEST(!gather_reason(world.lose(4)).empty());
}

BOOST_AUTO_TEST_CASE(who_has_missed_the_last_averaging_fetches_while_the_final_validation_runs) {
  World world;
  world.open(9);
  const auto ends = world.carry_all();
  world.add(9, 9).stage = Stage(0);  // came in while it ran
  world.answer_all(ends);
  BOOST_REQUIRE(world.schedule.frame().open.step == Step(10));
  Orders out;
  const auto behind = world.schedule.admit(peer(9), out, world.now);
  BOOST_TEST((behind.kind == Verdict::Kind::kFetch));
  BOOST_TEST(!world.facts(9).serving);
  world.facts(9).step = Step(10);  // it failed the round: at the step, with other bits
  world.facts(9).checksum = 99;
  const auto other = world.schedule.admit(peer(9), out, world.now);
  BOOST_TEST((other.kind != Verdict::Kind::kServe));
  BOOST_TEST(!world.facts(9).serving);
}

BOOST_AUTO_TEST_SUITE_END()
