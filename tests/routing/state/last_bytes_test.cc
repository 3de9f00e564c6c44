#include "routing/state/last_bytes.h"

#include <boost/test/unit_test.hpp>

#include "actors/node/drain_times.h"

using namespace swarm::routing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(LastBytesTest)

BOOST_AUTO_TEST_CASE(nothing_queued_is_nothing_to_wait_for) {
  LastBytes bytes(60s);
  BOOST_TEST(!bytes.go_on(0, 1e6, 0s));
}

BOOST_AUTO_TEST_CASE(what_moves_is_sent_to_its_end) {
  LastBytes bytes(60s);
  for (int s = 0; s < 10; ++s) BOOST_TEST(bytes.go_on(10'000'000 - s * 1'000'000, 1e6, s * 900ms));
  BOOST_TEST(!bytes.go_on(0, 1e6, 10s));
}

BOOST_AUTO_TEST_CASE(a_link_that_carries_nothing_is_given_up) {
  LastBytes bytes(60s);
  BOOST_TEST(bytes.go_on(1'000'000, 1e6, 0s));
  BOOST_TEST(bytes.go_on(1'000'000, 1e6, 900ms));
  BOOST_TEST(!bytes.go_on(1'000'000, 1e6, 1s));
}

BOOST_AUTO_TEST_CASE(some_times_what_the_bytes_need_is_enough) {
  LastBytes bytes(60s);
  BOOST_TEST(bytes.go_on(2'000'000, 1e6, 0s));
  for (int i = 1; i < 70; ++i) BOOST_TEST(bytes.go_on(2'000'000 - i * 1'000, 1e6, i * 100ms));
  BOOST_TEST(!bytes.go_on(1'000'000, 1e6, 7s));  // 1 s and three times 2
}

BOOST_AUTO_TEST_CASE(the_limit_of_the_whole_stands) {
  LastBytes bytes(5s);
  BOOST_TEST(bytes.go_on(100'000'000, 1e6, 1s));
  BOOST_TEST(bytes.go_on(99'000'000, 1e6, 1900ms));
  BOOST_TEST(!bytes.go_on(90'000'000, 1e6, 5s));
}

// The launcher's 10 s were shorter than the 15 s after which a node that hangs ends by itself.
BOOST_AUTO_TEST_CASE(who_is_further_out_waits_longer) {
  for (double limit_s : {1.0, 60.0, 3600.0}) {
    const auto times = swarm::actors::drain_times(limit_s);
    BOOST_TEST(times.roles.count() == limit_s * 1000);
    BOOST_TEST((times.roles < times.node && times.node < times.process));
    BOOST_TEST((times.process < times.launcher));
  }
}

BOOST_AUTO_TEST_SUITE_END()
