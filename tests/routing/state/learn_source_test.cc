#include "routing/state/learn_source.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(LearnSourceSuite)

BOOST_AUTO_TEST_CASE(no_more_is_asked_for_than_the_way_holds) {
  LearnSource source;
  source.adapt_window(10ms, 0ms, 8);
  for (int i = 0; i < 20; ++i) source.adapt_window(20ms, 0ms, 8);  // half of it in a queue
  BOOST_TEST(source.window == 1.0);
  for (int i = 0; i < 100; ++i) source.adapt_window(11ms, 0ms, 8);  // a long way
  BOOST_TEST(source.window == 8.0);
}

BOOST_AUTO_TEST_CASE(what_waited_for_a_device_may_come_in_a_burst) {
  LearnSource source;
  source.adapt_window(10ms, 40ms, 8);
  for (int i = 0; i < 100; ++i) source.adapt_window(40ms, 40ms, 8);
  BOOST_TEST(source.window == 8.0);
  for (int i = 0; i < 100; ++i) source.adapt_window(60ms, 40ms, 8);
  BOOST_TEST(source.window == 1.0);
}

BOOST_AUTO_TEST_CASE(a_source_leads_on_from_its_last_steps_of_its_own_history) {
  LearnSource source;
  source.newest = StateLabel{Step(9), 1};
  BOOST_TEST(source.leads_on({Step(9), 1}));
  BOOST_TEST(!source.leads_on({Step(9), 2}));
  BOOST_TEST(source.leads_on({Step(6), 5}));
  BOOST_TEST(!source.leads_on({Step(5), 5}));
  BOOST_TEST(source.leads_on({Step(10), 5}));  // it may come there
  source.lost.insert({Step(8), 3});
  BOOST_TEST(!source.leads_on({Step(8), 3}));
  BOOST_TEST(source.leads_on({Step(8), 4}));
}

BOOST_AUTO_TEST_SUITE_END()
