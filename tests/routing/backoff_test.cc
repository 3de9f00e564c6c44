#include "routing/backoff.h"

#include <boost/test/unit_test.hpp>

using namespace swarm::routing;

BOOST_AUTO_TEST_SUITE(BackoffTest)

BOOST_AUTO_TEST_CASE(delays_double_up_to_the_limit) {
  BackoffOptions options;
  BOOST_TEST(backoff_s(options, 0, 0) == 0.0);
  BOOST_TEST(backoff_s(options, 1, 0) == 0.2);
  BOOST_TEST(backoff_s(options, 3, 0) == 0.8);
  BOOST_TEST(backoff_s(options, 7, 0) == 10.0);
  BOOST_TEST(backoff_s(options, 4'000'000'000u, 0) == 10.0);
}

BOOST_AUTO_TEST_CASE(jitter_only_shortens_and_by_its_share_at_most) {
  BackoffOptions options;
  BOOST_TEST(backoff_s(options, 2, 0.5) == 0.3, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(backoff_s(options, 2, 0.999999) > 0.2);
  BOOST_TEST(backoff_s(options, 2, 7) == 0.2);
}

BOOST_AUTO_TEST_SUITE_END()
