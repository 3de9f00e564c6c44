#include "routing/membership/work_rate.h"

#include <boost/test/unit_test.hpp>

namespace swarm::routing {
namespace {

const auto kClose = boost::test_tools::tolerance(0.02);

BOOST_AUTO_TEST_SUITE(WorkRateTest)

BOOST_AUTO_TEST_CASE(nothing_is_said_before_any_time_has_passed) {
  WorkRate rate;
  BOOST_TEST(rate.means(7).running == 0);
  rate.computed(1, 2, 7);
  BOOST_TEST(rate.means(7).done_per_s == 0);
}

BOOST_AUTO_TEST_CASE(the_first_word_is_of_the_time_since_it_began) {
  WorkRate rate;
  rate.means(100);
  for (int i = 1; i <= 4; ++i) rate.computed(0.1, 2, 100 + 0.25 * i);
  BOOST_TEST(rate.means(101).running == 0.4, boost::test_tools::tolerance(0.1));
  BOOST_TEST(rate.means(101).done_per_s == 4, boost::test_tools::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(steady_work_is_told_as_it_is) {
  WorkRate rate;
  for (int i = 0; i < 3000; ++i) {
    rate.waited(0.06, i * 0.02);
    rate.computed(0.005, 1, i * 0.02);
  }
  const auto means = rate.means(60);
  BOOST_TEST(means.running == 0.25, kClose);
  BOOST_TEST(means.queued == 3, kClose);
  BOOST_TEST(means.done_per_s == 25, kClose);  // two passes each
}

// One that ends every five seconds would be told as none or two.
BOOST_AUTO_TEST_CASE(what_a_microbatch_takes_is_right_whenever_it_is_asked) {
  WorkRate rate;
  rate.means(0);
  for (int second = 1; second <= 20; ++second) {
    if (second % 5 == 0) rate.computed(5, 2, second);
    const auto means = rate.means(second);
    if (second >= 5) BOOST_TEST(means.running / means.done_per_s == 5, kClose);
    if (second >= 10) BOOST_TEST((means.running > 0.6 && means.running < 1.5), means.running);
  }
}

BOOST_AUTO_TEST_CASE(work_of_long_ago_is_forgotten) {
  WorkRate rate;
  for (int i = 0; i < 100; ++i) rate.computed(0.5, 2, i);
  BOOST_TEST(rate.means(100).running == 0.5, boost::test_tools::tolerance(0.1));
  BOOST_TEST(rate.means(160).running < 0.01);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
