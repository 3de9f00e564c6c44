#include "routing/steps/progress_watch.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(ProgressWatchTest)

BOOST_AUTO_TEST_CASE(short_steps_are_not_talked_of) {
  ProgressWatch watch;
  for (uint32_t i = 0; i < 1000; ++i)
    BOOST_TEST(!watch.look(Step(i / 90), i % 90, i * 1000, i * 100ms));
}

BOOST_AUTO_TEST_CASE(a_long_step_says_now_and_then_that_it_goes_on) {
  ProgressWatch watch;
  int said = 0;
  for (int i = 0; i <= 600; ++i) said += watch.look(Step(3), i / 100, 0, i * 100ms) ? 1 : 0;
  BOOST_TEST(said == 6);
}

BOOST_AUTO_TEST_CASE(bytes_are_progress_and_silence_is_none) {
  ProgressWatch watch;
  BOOST_TEST(!watch.look(Step(3), 0, 100, 0s));
  BOOST_TEST(!watch.look(Step(3), 0, 100, 60s));
  BOOST_TEST(watch.look(Step(3), 0, 101, 61s));
  BOOST_TEST(!watch.look(Step(3), 0, 102, 62s));
  BOOST_TEST(!watch.look(Step(3), 0, 101, 90s));  // no more than was said
  BOOST_TEST(watch.look(Step(3), 0, 102, 91s));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_gone_takes_its_bytes_with_it) {
  ProgressWatch watch;
  BOOST_TEST(!watch.look(Step(0), 0, 1'000'000, 0s));
  BOOST_TEST(!watch.look(Step(0), 0, 10, 20s));
  BOOST_TEST(watch.look(Step(0), 0, 11, 21s));
}

BOOST_AUTO_TEST_CASE(slots_that_were_lost_and_done_again_are_no_progress) {
  ProgressWatch watch;
  BOOST_TEST(!watch.look(Step(0), 4, 0, 0s));
  BOOST_TEST(!watch.look(Step(0), 2, 0, 20s));
  BOOST_TEST(watch.look(Step(0), 2, 1, 30s));  // for its bytes
  BOOST_TEST(!watch.look(Step(0), 4, 1, 40s));
  BOOST_TEST(watch.look(Step(0), 5, 1, 60s));
}

BOOST_AUTO_TEST_SUITE_END()
