#include "routing/membership/departure.h"

#include <boost/test/unit_test.hpp>

#include "routing/steps/async_schedule.h"
#include "routing/steps/delayed_schedule.h"
#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;

namespace {

template <class Schedule>
Departure when(ScheduleWorld<Schedule>& world, uint32_t n, std::optional<Round> asked_in = {}) {
  return departure(world.schedule, peer(n), world.facts(n), asked_in);
}

/// Everybody who was asked has averaged, but for `fails`.
Orders answer_all(ScheduleWorld<AsyncSchedule>& world, const Orders& orders, uint32_t fails = 0) {
  Orders all;
  for (const auto& end : all_of<orders::EndPeriod>(orders))
    for (const PeerId& id : end.members) {
      Result<PeriodAnswer> answer = PeriodAnswer{5, 1, 0, {}};
      if (id == peer(fails)) answer = Error{ErrorCode::kPeerTimeout, "a test"};
      world.append(all, world.schedule.period_answered({end.stage, end.round, end.period, id},
                                                       answer, world.now));
    }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(DepartureTest)

// While updates are under way all the time there is no moment: the pipeline runs dry for it.
BOOST_AUTO_TEST_CASE(delayed_updates_make_room_for_who_waits_to_leave) {
  ScheduleWorld<DelayedSchedule> world;
  world.open(0);
  Orders closes = world.carry_all();
  for (int step = 0; step < 3; ++step) {
    BOOST_TEST((when(world, 2) == Departure::kHasPart));
    world.close_all(closes);
    BOOST_TEST((when(world, 2) == Departure::kHasPart));  // the update waits for the next close
    closes = world.carry_all();
  }
  world.facts(2).departs = true;
  world.close_all(closes);
  closes = world.carry_all();
  BOOST_TEST(!all_of<orders::CloseStep>(closes)[0].go_on);
  BOOST_TEST((when(world, 2) == Departure::kHasPart));
  world.commit_all(world.close_all(closes));
  BOOST_TEST((when(world, 2) == Departure::kMay));
}

BOOST_AUTO_TEST_CASE(asynchronously_a_mover_leaves_after_a_round_that_began_when_it_was_done) {
  ScheduleWorld<AsyncSchedule> world;
  world.open(0);
  const auto first = world.carry_all();
  const Round asked_in = world.schedule.frame().open.stages[0].round;
  BOOST_TEST((when(world, 2, asked_in) == Departure::kHasPart));
  answer_all(world, first);
  BOOST_TEST((when(world, 2, asked_in) == Departure::kHasPart));  // its updates may have been late
  const auto second = world.carry_all();
  BOOST_TEST((when(world, 2, asked_in) == Departure::kHasPart));
  answer_all(world, second);
  BOOST_TEST((when(world, 2, asked_in) == Departure::kMay));
}

BOOST_AUTO_TEST_CASE(asynchronously_a_round_counts_that_another_one_has_who_serves) {
  ScheduleWorld<AsyncSchedule> world;
  world.open(0);
  const auto first = world.carry_all();
  const Round asked_in = world.schedule.frame().open.stages[0].round;
  answer_all(world, first);
  answer_all(world, world.carry_all(), /*fails=*/1);
  BOOST_TEST((when(world, 2, asked_in) == Departure::kHasPart));
  answer_all(world, world.carry_all());
  BOOST_TEST((when(world, 2, asked_in) == Departure::kMay));
  world.facts(1).serving = false;
  BOOST_TEST((when(world, 2, asked_in) == Departure::kHasPart));
}

BOOST_AUTO_TEST_CASE(who_does_not_serve_is_to_take_another_state_first) {
  ScheduleWorld<DelayedSchedule> world;
  world.open(0);
  world.facts(2).serving = false;
  BOOST_TEST((when(world, 2) == Departure::kServesNot));
  world.facts(2).commit_pending = true;
  BOOST_TEST((when(world, 2) == Departure::kHasPart));
}

BOOST_AUTO_TEST_CASE(at_the_end_nobody_moves_any_more) {
  ScheduleWorld<DelayedSchedule> world;
  BOOST_TEST((when(world, 2) == Departure::kGathers));
  world.all_at(10);
  world.open(10);
  BOOST_TEST((when(world, 2) == Departure::kOver));
}

BOOST_AUTO_TEST_SUITE_END()
