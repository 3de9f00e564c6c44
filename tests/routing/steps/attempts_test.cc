#include "routing/steps/attempts.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using swarm::Term;
using swarm::routing::attempt_base;

BOOST_AUTO_TEST_SUITE(Attempts)

BOOST_AUTO_TEST_CASE(every_gathering_of_a_term_has_higher_numbers_than_the_one_before) {
  const Term term = swarm::routing::next_term(Term(), swarm::testing::node(3));
  for (uint64_t gathering : {0, 1, 254, 255, 4'095, 4'096, 200'000})
    BOOST_TEST(attempt_base(term, gathering) < attempt_base(term, gathering + 1));
}

BOOST_AUTO_TEST_CASE(every_term_has_higher_numbers_than_the_one_before) {
  swarm::Term before;
  for (uint8_t n = 1; n < 200; ++n) {
    const auto term = swarm::routing::next_term(before, swarm::testing::node(n % 5));
    BOOST_TEST(attempt_base(before, 200'000) + 1'000'000 < attempt_base(term, 1));
    before = term;
  }
}

BOOST_AUTO_TEST_CASE(many_leases_of_a_slot_stay_below_the_next_gathering) {
  BOOST_TEST(attempt_base(Term(1), 1) + 1'000'000 < attempt_base(Term(1), 2));
}

BOOST_AUTO_TEST_SUITE_END()
