#include "routing/membership/dead_records.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

BOOST_AUTO_TEST_SUITE(DeadRecordsTest)

BOOST_AUTO_TEST_CASE(a_record_from_before_the_loss_leads_to_the_dead) {
  DeadRecords dead(10);
  dead.died(Term(3), node(1), /*version=*/7, /*now_s=*/0);
  BOOST_TEST(dead.is_dead(Term(3), node(1), 7));
  BOOST_TEST(dead.is_dead(Term(3), node(1), 6));
  BOOST_TEST(!dead.is_dead(Term(3), node(2), 7));
  BOOST_TEST(!dead.is_dead(Term(4), node(1), 7));
}

BOOST_AUTO_TEST_CASE(who_publishes_again_lives) {
  DeadRecords dead(10);
  dead.died(Term(3), node(1), 7, 0);
  BOOST_TEST(!dead.is_dead(Term(3), node(1), 8));
}

// Node ids are new at every start: the set grew for as long as the process lived.
BOOST_AUTO_TEST_CASE(the_dead_are_forgotten_with_their_records) {
  DeadRecords dead(10);
  for (uint32_t i = 0; i < 1000; ++i) {
    dead.died(Term(3), node(i), 7, i);
    dead.expire(i);
  }
  BOOST_TEST(dead.size() == 11u);
  BOOST_TEST(dead.is_dead(Term(3), node(999), 7));
  dead.expire(2000);
  BOOST_TEST(dead.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
