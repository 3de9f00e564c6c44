#include "routing/membership/majority.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;

BOOST_AUTO_TEST_SUITE(WhoIsBelieved)

BOOST_AUTO_TEST_CASE(most_are_believed_whoever_speaks_first) {
  const auto believed = believe({{peer(1), 6}, {peer(2), 5}, {peer(3), 5}});
  BOOST_TEST(believed.what == 5u);
  BOOST_TEST((believed.odd == std::vector<PeerId>{peer(1)}));
}

BOOST_AUTO_TEST_CASE(of_two_the_smaller_id_is_believed) {
  const auto believed = believe({{peer(2), 5}, {peer(1), 6}});
  BOOST_TEST(believed.what == 6u);
  BOOST_TEST((believed.odd == std::vector<PeerId>{peer(2)}));
}

BOOST_AUTO_TEST_CASE(who_says_the_same_is_not_odd) {
  BOOST_TEST(believe({{peer(1), 6}, {peer(2), 6}}).odd.empty());
  BOOST_TEST(believe({{peer(1), 6}}).what == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
