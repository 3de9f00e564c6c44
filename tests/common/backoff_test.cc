#include "common/backoff.h"

#include <boost/test/unit_test.hpp>
#include <chrono>

using namespace swarm;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(BackoffTest)

BOOST_AUTO_TEST_CASE(pauses_double_from_the_first_up_to_the_limit) {
  BOOST_TEST((backoff(1, 100ms, 5'000ms) == 100ms));
  BOOST_TEST((backoff(3, 100ms, 5'000ms) == 400ms));
  BOOST_TEST((backoff(7, 100ms, 5'000ms) == 5s));
  BOOST_TEST((backoff(1'000'000, 100ms, 5'000ms) == 5s));
}

BOOST_AUTO_TEST_CASE(a_limit_below_the_first_pause_holds_too) {
  BOOST_TEST((backoff(1, 100ms, 50ms) == 50ms));
}

BOOST_AUTO_TEST_CASE(jitter_takes_at_most_half_of_a_pause_away) {
  BOOST_TEST((jittered(400ms, 0.0) == 200ms));
  BOOST_TEST((jittered(400ms, 0.5) == 300ms));
  BOOST_TEST((jittered(400ms, 1.0) == 400ms));
}

BOOST_AUTO_TEST_SUITE_END()
