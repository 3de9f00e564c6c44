#include "routing/state/byte_pace.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(BytePaceSuite)

BOOST_AUTO_TEST_CASE(a_small_thing_is_given_the_least_and_a_large_one_what_its_bytes_take) {
  const BytePace pace(20e6, 120s);
  BOOST_TEST((pace.limit(9'000'000) == 120s));
  BOOST_TEST((pace.limit(10'000'000'000) == 4'000s));
}

BOOST_AUTO_TEST_CASE(what_was_seen_counts_at_once_when_slower_and_slowly_when_faster) {
  BytePace pace(20e6, 1s);
  pace.took(1'000'000'000, 10s);  // 100 MB/s: the first is believed
  BOOST_TEST((pace.limit(10'000'000'000) == 800s));
  pace.took(1'000'000'000, 100s);
  BOOST_TEST((pace.limit(10'000'000'000) == 8'000s));
  pace.took(1'000'000'000, 10s);
  BOOST_TEST((pace.limit(10'000'000'000) > 6'000s));
  for (int i = 0; i < 50; ++i) pace.took(1'000'000'000, 10s);
  BOOST_TEST((pace.limit(10'000'000'000) < 801s));
}

BOOST_AUTO_TEST_CASE(a_few_bytes_say_nothing_of_the_rate) {
  BytePace pace(20e6, 1s);
  pace.took(1'000, 10s);
  BOOST_TEST((pace.limit(20'000'000) == 8s));
}

BOOST_AUTO_TEST_SUITE_END()
