// Who waits for a node that leaves, from the inside out.
#include "actors/node/drain_times.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "actors/node/options.h"

using namespace swarm;

BOOST_AUTO_TEST_SUITE(DrainTimesTest)

BOOST_AUTO_TEST_CASE(each_waits_longer_than_the_one_inside_it) {
  for (const double grace_s : {1.0, 25.0, 3600.0}) {
    const auto times = actors::drain_times(grace_s);
    BOOST_TEST((times.vote < times.roles));
    BOOST_TEST((times.roles < times.node));
    BOOST_TEST((times.node < times.process));
    BOOST_TEST((times.process < times.launcher));
  }
}

BOOST_AUTO_TEST_CASE(the_service_waits_longer_than_a_node_takes_to_leave) {
  std::ifstream file(std::string(SWARM_SOURCE) + "/config/swarm-node@.service");
  const std::string unit{std::istreambuf_iterator<char>(file), {}}, key = "TimeoutStopSec=";
  BOOST_REQUIRE(unit.find(key) != std::string::npos);
  const auto waits = std::chrono::seconds(std::stoi(unit.substr(unit.find(key) + key.size())));
  BOOST_TEST((waits > actors::drain_times(actors::NodeOptions().grace_s).launcher));
}

BOOST_AUTO_TEST_SUITE_END()
