#include "routing/steps/contributions.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;

namespace {
MicrobatchKey key(uint64_t step, uint32_t slot, uint64_t attempt) {
  return {Step(step), Slot(slot), Attempt(attempt)};
}
}  // namespace

BOOST_AUTO_TEST_SUITE(ContributionsTest)

BOOST_AUTO_TEST_CASE(a_slot_is_added_once_whatever_the_attempts) {
  Contributions sum;
  BOOST_TEST(sum.enter(key(1, 3, 7)));
  BOOST_TEST(!sum.enter(key(1, 3, 7)));
  BOOST_TEST(!sum.enter(key(1, 3, 8)));
  BOOST_TEST(sum.attempt(key(1, 3, 8)).value() == Attempt(7));
  BOOST_TEST(sum.enter(key(2, 3, 9)));
}

BOOST_AUTO_TEST_CASE(a_failed_computation_leaves_the_slot_to_another_attempt) {
  Contributions sum;
  BOOST_TEST(sum.enter(key(1, 3, 7)));
  sum.failed(key(1, 3, 7), sum.epoch());
  BOOST_TEST(!sum.holds(key(1, 3, 7), sum.epoch()));
  BOOST_TEST(sum.enter(key(1, 3, 8)));
}

BOOST_AUTO_TEST_CASE(the_failure_of_another_attempt_takes_nothing_out) {
  Contributions sum;
  BOOST_TEST(sum.enter(key(1, 3, 7)));
  sum.failed(key(1, 3, 8), sum.epoch());
  BOOST_TEST(sum.holds(key(1, 3, 8), sum.epoch()));
}

BOOST_AUTO_TEST_CASE(a_slot_is_in_the_sum_when_its_computation_is_done) {
  Contributions sum;
  BOOST_TEST(sum.settled(Step(1)));
  BOOST_TEST(sum.enter(key(1, 3, 7)));
  BOOST_TEST(!sum.settled(Step(1)));
  BOOST_TEST(sum.settled(Step(2)));
  sum.added(key(1, 3, 8), sum.epoch());  // another attempt, which added nothing
  BOOST_TEST(!sum.settled(Step(1)));
  sum.added(key(1, 3, 7), sum.epoch() + 1);
  BOOST_TEST(!sum.settled(Step(1)));
  sum.added(key(1, 3, 7), sum.epoch());
  BOOST_TEST(sum.settled(Step(1)));
  BOOST_TEST(sum.enter(key(1, 4, 7)));
  sum.failed(key(1, 4, 7), sum.epoch());
  BOOST_TEST(sum.settled(Step(1)));
}

BOOST_AUTO_TEST_CASE(slots_have_the_order_in_which_they_were_added) {
  Contributions sum;
  for (const uint32_t slot : {1u, 2u, 3u}) BOOST_TEST(sum.enter(key(1, slot, 7)));
  sum.added(key(1, 3, 7), sum.epoch());
  sum.added(key(1, 1, 7), sum.epoch());
  const auto held = sum.of_step(Step(1));
  BOOST_REQUIRE(held.size() == 3u);
  BOOST_TEST(held[2].place > 0u);
  BOOST_TEST(held[0].place > held[2].place);
  BOOST_TEST(!held[1].added());  // it is being computed
}

// A backward ran while the sum was dropped: it must not count as held in the new sum, nor may its
// failure take the slot of a later attempt out.
BOOST_AUTO_TEST_CASE(what_ends_after_the_sum_was_dropped_says_nothing_about_the_new_one) {
  Contributions sum;
  BOOST_TEST(sum.enter(key(1, 3, 7)));
  const auto started = sum.epoch();
  sum.clear();
  BOOST_TEST(sum.enter(key(1, 3, 7)));
  BOOST_TEST(!sum.holds(key(1, 3, 7), started));
  sum.failed(key(1, 3, 7), started);
  BOOST_TEST(sum.holds(key(1, 3, 7), sum.epoch()));
}

BOOST_AUTO_TEST_CASE(a_new_coordinator_hears_of_losses_of_this_step_only) {
  Contributions sum;
  BOOST_TEST(sum.enter(key(1, 3, 7)));
  BOOST_TEST(sum.enter(key(1, 5, 8)));
  BOOST_TEST(sum.enter(key(2, 4, 9)));
  sum.note_loss(key(1, 3, 7), 2.5, 8);
  sum.note_loss(key(1, 9, 7), 9.9, 8);
  auto held = sum.of_step(Step(1));
  BOOST_REQUIRE(held.size() == 2u);
  BOOST_TEST(held[0].slot == Slot(3));
  BOOST_TEST(held[0].loss_sum == 2.5);
  BOOST_TEST(held[0].samples == 8u);
  BOOST_TEST(held[1].attempt == Attempt(8));
  BOOST_TEST(held[1].samples == 0u);
  BOOST_TEST(sum.of_step(Step(0)).empty());
}

// A peer of asynchronous mode that took a neighbour's weights: its own updates before are not
// repeated, but a computation that began before says nothing about the new parameters.
BOOST_AUTO_TEST_CASE(a_new_epoch_keeps_what_is_in) {
  Contributions updates;
  BOOST_TEST(updates.enter(key(1, 3, 7)));
  const auto started = updates.epoch();
  updates.begin_epoch();
  BOOST_TEST(!updates.holds(key(1, 3, 7), started));
  BOOST_TEST(!updates.enter(key(1, 3, 8)));
}

BOOST_AUTO_TEST_CASE(only_periods_that_are_refused_are_forgotten) {
  Contributions updates;
  for (uint64_t period = 0; period < 10; ++period) BOOST_TEST(updates.enter(key(period, 0, 1)));
  updates.trim(/*oldest_step=*/Step(4), /*kept=*/8);
  BOOST_TEST(updates.size() == 8u);
  BOOST_TEST(!updates.enter(key(2, 0, 1)));
  updates.trim(Step(4), 0);
  BOOST_TEST(updates.size() == 6u);
  BOOST_TEST(!updates.enter(key(4, 0, 2)));
  BOOST_TEST(updates.enter(key(3, 0, 2)));
}

BOOST_AUTO_TEST_SUITE_END()
