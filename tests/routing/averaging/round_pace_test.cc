#include "routing/averaging/round_pace.h"

#include <boost/test/unit_test.hpp>

using swarm::routing::RoundPace;
using Millis = RoundPace::Millis;

namespace {

constexpr uint64_t kMegabyte = 1'000'000;

/// Whole milliseconds may have been cut off.
bool about(Millis limit, int64_t expected_ms) {
  return limit.count() == expected_ms || limit.count() == expected_ms - 1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RoundPaceTest)

BOOST_AUTO_TEST_CASE(the_first_round_is_given_twice_its_bytes_at_100_megabits) {
  RoundPace pace(Millis(1));
  BOOST_TEST(about(pace.limit(100 * kMegabyte), 16'000));
}

BOOST_AUTO_TEST_CASE(later_rounds_are_given_eight_times_what_they_took) {
  RoundPace pace(Millis(1));
  pace.done(1.0, kMegabyte);
  BOOST_TEST(about(pace.limit(kMegabyte), 8'000));
  BOOST_TEST(about(pace.limit(3 * kMegabyte), 24'000));
}

BOOST_AUTO_TEST_CASE(the_estimate_rises_at_once_and_falls_slowly) {
  RoundPace pace(Millis(1));
  pace.done(1.0, kMegabyte);
  pace.done(2.0, kMegabyte);
  BOOST_TEST(about(pace.limit(kMegabyte), 16'000));
  pace.done(1.0, kMegabyte);
  BOOST_TEST(about(pace.limit(kMegabyte), 13'600));
}

BOOST_AUTO_TEST_CASE(a_missed_limit_doubles_the_next) {
  RoundPace pace(Millis(1));
  pace.done(1.0, kMegabyte);
  pace.missed(8, kMegabyte);
  BOOST_TEST(about(pace.limit(kMegabyte), 16'000));
}

// The estimate was doubled, which for long did not count beside the least.
BOOST_AUTO_TEST_CASE(so_does_one_that_was_the_least) {
  RoundPace pace(Millis(3'000));
  for (int round = 0; round < 3; ++round) pace.done(0.001, kMegabyte);
  BOOST_TEST(about(pace.limit(kMegabyte), 750));
  for (int64_t limit_ms = 750; limit_ms < 20'000; limit_ms *= 2) {
    pace.missed(static_cast<double>(limit_ms) * 1e-3, kMegabyte);
    BOOST_TEST(about(pace.limit(kMegabyte), 2 * limit_ms));
  }
}

BOOST_AUTO_TEST_CASE(members_that_gave_up_together_have_the_same_limit_for_the_next) {
  RoundPace quick(Millis(1)), slow(Millis(1));
  quick.done(0.5, kMegabyte);
  slow.done(1.0, kMegabyte);
  for (RoundPace* pace : {&quick, &slow}) pace->missed(5, kMegabyte);
  BOOST_TEST(about(quick.limit(kMegabyte), 10'000));
  BOOST_TEST(about(slow.limit(kMegabyte), 10'000));
}

BOOST_AUTO_TEST_CASE(one_that_was_given_up_early_says_nothing_and_none_makes_more_than_an_hour) {
  RoundPace pace(Millis(1));
  pace.done(1.0, kMegabyte);
  pace.missed(0.5, kMegabyte);
  BOOST_TEST(about(pace.limit(kMegabyte), 8'000));
  for (int i = 0; i < 3; ++i) pace.missed(3'600, kMegabyte);
  BOOST_TEST(about(pace.limit(kMegabyte), 3'600'000));
  for (int i = 0; i < 30; ++i) pace.done(1.0, kMegabyte);
  BOOST_TEST(pace.limit(kMegabyte).count() < 9'000);
}

BOOST_AUTO_TEST_CASE(a_quarter_of_the_least_is_enough_once_three_rounds_are_known) {
  RoundPace pace(Millis(3'000));
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(about(pace.limit(1), 3'000));
    pace.done(1e-6, 1);
  }
  BOOST_TEST(about(pace.limit(1), 750));
}

BOOST_AUTO_TEST_CASE(no_round_is_given_more_than_an_hour) {
  RoundPace pace(Millis(1));
  BOOST_TEST(about(pace.limit(uint64_t{1} << 60), 3'600'000));
}

BOOST_AUTO_TEST_SUITE_END()
