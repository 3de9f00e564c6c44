#include "routing/steps/round_rules.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;

namespace {

/// At step 7, of which round 70 has given a mean; 6 is the newest step applied to the state, plus one.
RoundPlace place() { return {Step(7), Step(7), Round(70), true, false}; }

CloseCall call(uint64_t step, uint64_t round) {
  return {Step(step), Round(round), false, true, false, std::nullopt};
}

ErrorCode close(const RoundPlace& at, const CloseCall& call) { return may_close(at, call).code(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(RoundRules)

BOOST_AUTO_TEST_CASE(a_close_of_the_open_step_is_taken_and_taken_again) {
  BOOST_TEST((close(place(), call(7, 71)) == ErrorCode::kNone));
  BOOST_TEST((close(place(), call(7, 70)) == ErrorCode::kNone));
}

BOOST_AUTO_TEST_CASE(a_close_of_another_step_says_who_is_behind) {
  BOOST_TEST((close(place(), call(6, 71)) == ErrorCode::kStaleStep));
  BOOST_TEST((close(place(), call(8, 71)) == ErrorCode::kNotReady));
}

// The answer to a close that opened the next step was lost: the peer is a step further than it.
BOOST_AUTO_TEST_CASE(a_close_that_opened_the_next_step_is_taken_again) {
  CloseCall again = call(6, 70);
  BOOST_TEST((close(place(), again) == ErrorCode::kStaleStep));
  again.go_on = true;
  BOOST_TEST((close(place(), again) == ErrorCode::kNone));
  again.round = Round(69);
  BOOST_TEST((close(place(), again) == ErrorCode::kStaleStep));
}

BOOST_AUTO_TEST_CASE(an_older_round_is_over) {
  BOOST_TEST((close(place(), call(7, 69)) == ErrorCode::kStaleStep));
}

BOOST_AUTO_TEST_CASE(who_is_no_member_does_not_take_part_yet_hears_that_a_round_is_abandoned) {
  CloseCall other = call(7, 71);
  other.is_member = false;
  BOOST_TEST((close(place(), other) == ErrorCode::kInvalidArgument));
  other.abandons = true;
  BOOST_TEST((close(place(), other) == ErrorCode::kNone));
}

BOOST_AUTO_TEST_CASE(a_close_with_an_update_needs_its_average) {
  CloseCall with = call(7, 71);
  with.commit = NamedAverage{Step(7), Round(70)};
  BOOST_TEST((close(place(), with) == ErrorCode::kNone));
  RoundPlace without = place();
  without.averaged = false;
  BOOST_TEST((close(without, with) == ErrorCode::kNotFound));
  with.commit = NamedAverage{Step(7), Round(68)};
  BOOST_TEST((close(place(), with) == ErrorCode::kNotFound));
  with.commit = NamedAverage{Step(6), Round(70)};
  BOOST_TEST((close(place(), with) == ErrorCode::kNotFound));
  with.round = Round(70);  // it has begun: the update was made with it
  BOOST_TEST((close(place(), with) == ErrorCode::kNone));
}

BOOST_AUTO_TEST_CASE(a_commit_is_of_the_newest_average_and_made_once) {
  BOOST_TEST(may_commit(place(), {Step(7), Round(70)}).ok());
  BOOST_TEST((may_commit(place(), {Step(6), Round(70)}).code() == ErrorCode::kStaleStep));
  BOOST_TEST((may_commit(place(), {Step(8), Round(70)}).code() == ErrorCode::kStaleStep));
  BOOST_TEST((may_commit(place(), {Step(7), Round(69)}).code() == ErrorCode::kNotFound));
  RoundPlace busy = place();
  busy.committing = true;
  BOOST_TEST((may_commit(busy, {Step(7), Round(70)}).code() == ErrorCode::kNotFound));
  busy = place();
  busy.averaged = false;
  BOOST_TEST((may_commit(busy, {Step(7), Round(70)}).code() == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(an_asynchronous_round_is_taken_once_and_one_at_a_time) {
  BOOST_TEST(may_average(Round(5), false, Round(6)).ok());
  BOOST_TEST(may_average(Round(5), true, Round(5)).ok());  // asked again while it is under way
  BOOST_TEST((may_average(Round(5), true, Round(6)).code() == ErrorCode::kOverloaded));
  BOOST_TEST((may_average(Round(5), false, Round(5)).code() == ErrorCode::kStaleStep));
  BOOST_TEST((may_average(Round(5), false, Round(4)).code() == ErrorCode::kStaleStep));
}

BOOST_AUTO_TEST_CASE(a_sum_of_other_slots_than_those_that_count_is_dropped_whole) {
  const std::set<Slot> two{Slot(1), Slot(2)}, three{Slot(1), Slot(2), Slot(3)};
  BOOST_TEST(too_much(two, true, two) == "");
  BOOST_TEST(too_much({}, true, {}) == "");
  BOOST_TEST(too_much(three, true, two) == "held 3 slots, counted 2");
  BOOST_TEST(too_much(two, true, three) == "held 2 slots, counted 3");
  BOOST_TEST(too_much(two, false, two) == "a slot that counts was still being computed");
}

BOOST_AUTO_TEST_SUITE_END()
