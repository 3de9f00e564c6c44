#include "apps/launch/stall_watch.h"

#include <boost/test/unit_test.hpp>

using namespace swarm::launch;

BOOST_AUTO_TEST_SUITE(StallWatchTest)

BOOST_AUTO_TEST_CASE(a_run_that_shows_nothing_stands_still_after_the_limit) {
  StallWatch watch(120);
  watch.begin({3, 7}, 10);
  BOOST_TEST(!watch.stalls({3, 7}, 130));
  BOOST_TEST(watch.stalls({3, 7}, 131));
  BOOST_TEST(watch.waits_s(131) == 121);
}

BOOST_AUTO_TEST_CASE(steps_and_microbatches_are_progress_for_ever) {
  StallWatch watch(120);
  watch.begin({}, 0);
  for (uint64_t i = 1; i < 100; ++i) BOOST_TEST(!watch.stalls({i, 0}, 119.0 * i));
}

// A step of 172 s was ended after 120 of them.
BOOST_AUTO_TEST_CASE(bytes_are_progress_for_a_while) {
  StallWatch watch(120);
  watch.begin({}, 0);
  double now_s = 0;
  uint64_t moved = 0;
  while (!watch.stalls({0, ++moved}, now_s)) now_s += 10;
  BOOST_TEST(now_s == 1210);
}

BOOST_AUTO_TEST_SUITE_END()
