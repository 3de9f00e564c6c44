#include "routing/dht/dht_key.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;

BOOST_AUTO_TEST_SUITE(DhtKeyTest)

BOOST_AUTO_TEST_CASE(keys_of_names_differ_and_stay_the_same) {
  BOOST_TEST(dht_key("run/stage/3") == dht_key("run/stage/3"));
  std::set<NodeId> keys;
  for (int i = 0; i < 1000; ++i) keys.insert(dht_key("run/stage/" + std::to_string(i)));
  BOOST_TEST(keys.size() == 1000u);
}

BOOST_AUTO_TEST_SUITE_END()
