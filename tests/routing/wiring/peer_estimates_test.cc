#include "routing/wiring/peer_estimates.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(PeerEstimatesTest)

BOOST_AUTO_TEST_CASE(a_steady_peer_is_estimated_exactly) {
  PeerEstimates estimates;
  for (int i = 0; i < 5; ++i) estimates.observe(peer(1), /*seconds=*/2, /*samples=*/8);
  BOOST_TEST(estimates.seconds_per_sample(peer(1)) == 0.25, tt::tolerance(1e-12));
  BOOST_TEST(estimates.samples_per_s(peer(1)) == 4.0, tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_estimate_follows_a_change) {
  PeerEstimates estimates;
  estimates.observe(peer(1), 1, 1);
  estimates.observe(peer(1), 2, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(1)) == 1.2, tt::tolerance(1e-12));
  for (int i = 0; i < 60; ++i) estimates.observe(peer(1), 2, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(1)) == 2.0, tt::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(unmeasured_peers_get_the_median_of_the_measured) {
  PeerEstimates estimates;
  BOOST_TEST(estimates.seconds_per_sample(peer(9)) == 0.1);
  estimates.observe(peer(1), 1, 1);
  estimates.observe(peer(2), 100, 1);
  estimates.observe(peer(3), 3, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(9)) == 3.0);
  estimates.observe(peer(4), 1, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(9)) == 2.0);
}

BOOST_AUTO_TEST_CASE(a_timeout_only_raises_the_estimate) {
  PeerEstimates estimates;
  estimates.observe(peer(1), 1, 1);
  estimates.observe_timeout(peer(1), 0.5, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(1)) == 1.0);
  double deadline = estimates.deadline_s(peer(1), 4);
  estimates.observe_timeout(peer(1), 3, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(1)) == 1.4, tt::tolerance(1e-12));
  BOOST_TEST(estimates.deadline_s(peer(1), 4) > deadline);
}

BOOST_AUTO_TEST_CASE(silence_of_an_unmeasured_peer_is_a_lower_bound_until_it_answers) {
  PeerEstimates estimates;
  estimates.observe(peer(1), 1, 1);
  estimates.observe_timeout(peer(2), 5, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(2)) == 5.0);
  BOOST_TEST(estimates.seconds_per_sample(peer(3)) == 1.0);  // silence is not a measurement
  estimates.observe(peer(2), 2, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(2)) == 2.0);
}

BOOST_AUTO_TEST_CASE(deadlines_come_from_observations_and_are_clamped) {
  PeerEstimates estimates;
  BOOST_TEST(estimates.deadline_s(peer(1), 1) == 30.0);
  for (int i = 0; i < 200; ++i) estimates.observe(peer(1), 1, 1);
  BOOST_TEST(estimates.deadline_s(peer(1), 1) == 3.0, tt::tolerance(1e-6));  // factor
  BOOST_TEST(estimates.deadline_s(peer(1), 10) == 30.0, tt::tolerance(1e-6));
  BOOST_TEST(estimates.deadline_s(peer(1), 1'000'000) == 120.0);
  BOOST_TEST(estimates.deadline_s(peer(2), 1) == 3.0, tt::tolerance(1e-6));  // as the others
  for (int i = 0; i < 50; ++i) estimates.observe(peer(3), i % 2 == 0 ? 0.5 : 5, 1);
  double mean = estimates.seconds_per_sample(peer(3));
  BOOST_TEST(estimates.deadline_s(peer(3), 1) > 4 * mean);  // spread
  for (int i = 0; i < 50; ++i) estimates.observe(peer(4), 1e-6, 1);
  BOOST_TEST(estimates.deadline_s(peer(4), 1) == 2.0);
}

BOOST_AUTO_TEST_CASE(a_banned_peer_returns_with_a_newer_announcement_only) {
  PeerEstimates estimates;
  BOOST_TEST(estimates.announced(peer(1), 4));
  estimates.ban(peer(1), 5);
  BOOST_TEST(estimates.banned(peer(1)));
  BOOST_TEST(!estimates.announced(peer(1), 5));
  BOOST_TEST(!estimates.announced(peer(1), 3));
  BOOST_TEST(estimates.announced(peer(1), 6));
  BOOST_TEST(!estimates.banned(peer(1)));
  estimates.ban(peer(1), 2);  // an old error: the newest announcement seen still counts
  BOOST_TEST(!estimates.announced(peer(1), 6));
  estimates.forget(peer(1));
  BOOST_TEST(!estimates.banned(peer(1)));
}

BOOST_AUTO_TEST_CASE(impossible_observations_are_ignored) {
  PeerEstimates estimates;
  estimates.observe(peer(1), -1, 1);
  estimates.observe(peer(1), 1, 0);
  estimates.observe_timeout(peer(1), std::numeric_limits<double>::infinity(), 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(1)) == 0.1);
  estimates.observe(peer(1), 0, 1);
  BOOST_TEST(std::isfinite(estimates.samples_per_s(peer(1))));
}

BOOST_AUTO_TEST_SUITE_END()
