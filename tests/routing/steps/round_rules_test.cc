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

/// As the peer is told it.
CountedSlots counted(const BroughtBy& slots) {
  CountedSlots told;
  for (const auto& [slot, attempt] : slots) told.slots.insert(slot);
  told.digest = digest_of(slots);
  return told;
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
  const BroughtBy two{{Slot(1), Attempt(4)}, {Slot(2), Attempt(5)}},
      three{{Slot(1), Attempt(4)}, {Slot(2), Attempt(5)}, {Slot(3), Attempt(6)}};
  BOOST_TEST(too_much(two, true, counted(two)) == "");
  BOOST_TEST(too_much({}, true, {}) == "");
  BOOST_TEST(too_much(three, true, counted(two)) == "held 3 slots, counted 2");
  BOOST_TEST(too_much(two, true, counted(three)) == "held 2 slots, counted 3");
  BOOST_TEST(too_much(two, false, counted(two)) == "a slot that counts was still being computed");
}

// A late report of an attempt whose sum was dropped counted, and the audit named it.
BOOST_AUTO_TEST_CASE(so_is_a_sum_that_holds_a_slot_by_another_attempt) {
  const BroughtBy now{{Slot(1), Attempt(4)}, {Slot(2), Attempt(7)}},
      late{{Slot(1), Attempt(4)}, {Slot(2), Attempt(5)}},
      turned{{Slot(1), Attempt(7)}, {Slot(2), Attempt(4)}};
  const std::string why = "held a slot by another attempt than counted";
  BOOST_TEST(too_much(now, true, counted(late)) == why);
  BOOST_TEST(too_much(now, false, counted(late)) == why);
  BOOST_TEST(too_much(now, true, counted(turned)) == why);
}

BOOST_AUTO_TEST_SUITE_END()
