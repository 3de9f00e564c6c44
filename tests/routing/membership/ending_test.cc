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

// The one that said so is dead and cannot take it back.
BOOST_AUTO_TEST_CASE(a_successor_that_trains_on_keeps_the_nodes) {
  Ending ending;
  ending.hear({Term(1), node(1), true, true}, 100);
  ending.hear({Term(2), node(2), false, true}, 110);
  BOOST_TEST(!ending.finished());
  ending.hear({Term(2), node(2), true, true}, 200);
  BOOST_TEST(!ending.may_leave(210, 20));
  BOOST_TEST(ending.may_leave(220, 20));
}

BOOST_AUTO_TEST_CASE(an_earlier_coordinator_that_is_back_does_not_take_it_back) {
  Ending ending;
  ending.hear({Term(2), node(2), true, true}, 100);
  ending.hear({Term(1), node(9), false, true}, 110);
  BOOST_TEST(ending.finished());
}

BOOST_AUTO_TEST_CASE(whoever_reads_the_records_is_waited_for) {
  Ending ending;
  ending.hear({Term(1), node(1), true, true}, 100);
  ending.read(210);
  BOOST_TEST(!ending.may_leave(221, 120));
  BOOST_TEST(!ending.may_leave(269, 120));
  BOOST_TEST(ending.may_leave(270, 120));
  ending.read(300);
  BOOST_TEST(!ending.may_leave(309, 10));
  BOOST_TEST(ending.may_leave(310, 10));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
