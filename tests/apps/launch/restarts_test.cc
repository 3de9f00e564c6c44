#include "apps/launch/restarts.h"

#include <boost/test/unit_test.hpp>

using swarm::launch::Restarts;

BOOST_AUTO_TEST_SUITE(RestartsOfNodes)

BOOST_AUTO_TEST_CASE(each_waits_twice_as_long_until_there_were_enough) {
  Restarts restarts(7);
  for (const double pause : {1., 2., 4., 8., 16., 30., 30.})
    BOOST_TEST(restarts.next(5).value() == pause);
  BOOST_TEST(!restarts.next(5).has_value());
  BOOST_TEST(restarts.in_a_row() == 7u);
}

BOOST_AUTO_TEST_CASE(a_process_that_served_long_begins_anew) {
  Restarts restarts(2);
  BOOST_TEST(restarts.next(5).has_value());
  BOOST_TEST(restarts.next(5).has_value());
  BOOST_TEST(restarts.next(700).value() == 1.0);
  BOOST_TEST(restarts.next(5).value() == 2.0);
  BOOST_TEST(!restarts.next(5).has_value());
}

BOOST_AUTO_TEST_CASE(none_is_started_where_that_is_wished) {
  Restarts restarts(0);
  BOOST_TEST(!restarts.next(5).has_value());
  BOOST_TEST(!restarts.next(1e6).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
