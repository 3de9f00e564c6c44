#include "routing/membership/ending.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

namespace swarm::routing {
namespace {

using testing::node;

BOOST_AUTO_TEST_SUITE(EndingTest)

BOOST_AUTO_TEST_CASE(a_node_leaves_some_time_after_the_first_word) {
  Ending ending;
  BOOST_TEST(!ending.may_leave(1e9, 0));
  ending.hear({Term(1), node(1), true}, 100);
  ending.hear({Term(1), node(1), true}, 110);
  BOOST_TEST(ending.finished());
  BOOST_TEST(!ending.may_leave(119, 20));
  BOOST_TEST(ending.may_leave(120, 20));
}

BOOST_AUTO_TEST_CASE(the_coordinator_that_said_it_takes_it_back) {
  Ending ending;
  ending.hear({Term(1), node(1), true}, 100);
  ending.hear({Term(1), node(1), false}, 101);
  BOOST_TEST(!ending.finished());
  ending.hear({Term(1), node(1), true}, 200);
  BOOST_TEST(!ending.may_leave(210, 20));
}

// Nodes that leave make others take over, who gather first: that must not keep the rest.
BOOST_AUTO_TEST_CASE(a_successor_that_gathers_does_not_take_it_back) {
  Ending ending;
  ending.hear({Term(1), node(1), true}, 100);
  ending.hear({Term(2), node(2), false}, 110);
  BOOST_TEST(ending.may_leave(120, 20));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
