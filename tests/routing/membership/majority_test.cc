#include "routing/membership/majority.h"

#include <boost/test/unit_test.hpp>

#include "routing/membership/strikes.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;
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

BOOST_AUTO_TEST_CASE(a_second_strike_makes_a_node_rest_and_each_one_after_for_longer) {
  Strikes strikes;
  const NodeId node = peer(1).node;
  BOOST_TEST(!strikes.strike(node, 10s).has_value());
  BOOST_TEST(!strikes.rests(node, 10s).has_value());
  BOOST_TEST((strikes.strike(node, 20s) == Time(1min)));
  BOOST_TEST((strikes.rests(node, 50s) == Time(30s)));
  BOOST_TEST(!strikes.rests(peer(2).node, 50s).has_value());
  BOOST_TEST(!strikes.rests(node, 80s).has_value());
  BOOST_TEST((strikes.strike(node, 90s) == Time(5min)));
  BOOST_TEST((strikes.strike(node, 500s) == Time(30min)));
  BOOST_TEST((strikes.strike(node, 4000s) == Time(30min)));
}

BOOST_AUTO_TEST_CASE(a_strike_long_ago_is_forgotten) {
  Strikes strikes;
  BOOST_TEST(!strikes.strike(peer(1).node, 10s).has_value());
  BOOST_TEST(!strikes.strike(peer(1).node, 10s + Strikes::kMemory + 1s).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
