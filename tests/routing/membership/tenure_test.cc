#include "routing/membership/tenure.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = 1'000s;

Tenure::Facts missing(size_t rivals = 1, uint32_t vain = 1) {
  return {Stage(2), false, rivals, vain};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(TenureOfACoordinator)

BOOST_AUTO_TEST_CASE(a_stage_that_is_not_heard_for_ten_seconds_ends_it) {
  Tenure tenure;
  BOOST_TEST(!tenure.gives_way(missing(), kStart));
  BOOST_TEST(!tenure.gives_way(missing(), kStart + 9'900ms));
  BOOST_TEST(tenure.gives_way(missing(), kStart + 10s));
}

BOOST_AUTO_TEST_CASE(a_stage_that_is_heard_again_begins_the_wait_anew) {
  Tenure tenure;
  tenure.gives_way(missing(), kStart);
  BOOST_TEST(!tenure.gives_way({std::nullopt, false, 1, 1}, kStart + 9s));
  BOOST_TEST(!tenure.gives_way(missing(), kStart + 11s));
  BOOST_TEST(tenure.gives_way(missing(), kStart + 21s));
}

BOOST_AUTO_TEST_CASE(with_nobody_else_to_try_it_goes_on) {
  Tenure tenure;
  for (int s = 0; s < 100; ++s) BOOST_TEST(!tenure.gives_way(missing(0), kStart + s * 1s));
}

BOOST_AUTO_TEST_CASE(each_candidate_has_ten_seconds_before_the_first_has_twenty) {
  BOOST_TEST((Tenure::patience(missing(2, 1)) == 10s));
  BOOST_TEST((Tenure::patience(missing(2, 3)) == 10s));
  BOOST_TEST((Tenure::patience(missing(2, 4)) == 20s));
  BOOST_TEST((Tenure::patience(missing(2, 7)) == 40s));
  BOOST_TEST((Tenure::patience(missing(2, 4'000'000)) == 160s));
}

BOOST_AUTO_TEST_SUITE_END()
