#include "apps/launch/resume_watch.h"

#include <boost/test/unit_test.hpp>

using swarm::launch::ResumeWatch;

BOOST_AUTO_TEST_SUITE(WatchOfResumedRuns)

// It waited for run.stall_limit_s, and named the stall.
BOOST_AUTO_TEST_CASE(where_every_node_is_there_and_no_step_is_common_waiting_does_not_help) {
  ResumeWatch watch;
  BOOST_TEST(!watch.hopeless(true, true, 5));
  BOOST_TEST(!watch.hopeless(true, true, 34));
  BOOST_TEST(watch.hopeless(true, true, 35));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_still_to_come_may_have_what_is_missing) {
  ResumeWatch watch;
  BOOST_TEST(!watch.hopeless(true, false, 5));
  BOOST_TEST(!watch.hopeless(true, false, 500));
  BOOST_TEST(!watch.hopeless(true, true, 501));
  BOOST_TEST(!watch.hopeless(false, true, 520));
  BOOST_TEST(!watch.hopeless(true, true, 540));
  BOOST_TEST(watch.hopeless(true, true, 570));
}

BOOST_AUTO_TEST_SUITE_END()
