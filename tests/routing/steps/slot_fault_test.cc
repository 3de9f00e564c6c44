#include "routing/steps/slot_fault.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;

BOOST_AUTO_TEST_SUITE(SlotFaultTest)

BOOST_AUTO_TEST_CASE(without_a_stage_every_stage_is_hit) {
  auto fault = parse_slot_fault("2:13");
  BOOST_REQUIRE(fault.has_value());
  BOOST_TEST(fault->hits({Step(2), Slot(13), Attempt(7)}, Stage(0)));
  BOOST_TEST(fault->hits({Step(2), Slot(13), Attempt(8)}, Stage(5)));
  BOOST_TEST(!fault->hits({Step(2), Slot(1), Attempt(7)}, Stage(0)));
  BOOST_TEST(!fault->hits({Step(3), Slot(13), Attempt(7)}, Stage(0)));
}

BOOST_AUTO_TEST_CASE(with_a_stage_only_that_one_is_hit) {
  auto fault = parse_slot_fault("2:13:1");
  BOOST_REQUIRE(fault.has_value());
  BOOST_TEST(fault->hits({Step(2), Slot(13), Attempt(7)}, Stage(1)));
  BOOST_TEST(!fault->hits({Step(2), Slot(13), Attempt(7)}, Stage(0)));
}

BOOST_AUTO_TEST_CASE(anything_else_is_no_defect) {
  for (const char* text :
       {"", "2", "2:", ":3", "2:3:", "2:3:1:0", "2:3:x", "two:3", " 2:3", "2:-3"})
    BOOST_TEST(!parse_slot_fault(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
