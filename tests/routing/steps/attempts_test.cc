#include "routing/steps/attempts.h"

#include <boost/test/unit_test.hpp>

using swarm::Term;
using swarm::routing::attempt_base;

BOOST_AUTO_TEST_SUITE(Attempts)

BOOST_AUTO_TEST_CASE(every_gathering_of_a_term_has_higher_numbers_than_the_one_before) {
  for (uint64_t gathering : {0, 1, 254, 255, 4'095, 4'096, 1'000'000})
    BOOST_TEST(attempt_base(Term(7), gathering) < attempt_base(Term(7), gathering + 1));
}

BOOST_AUTO_TEST_CASE(every_term_has_higher_numbers_than_the_one_before) {
  BOOST_TEST(attempt_base(Term(7), 1'000'000) < attempt_base(Term(8), 1));
  BOOST_TEST(attempt_base(Term(4'095), 9) < attempt_base(Term(4'096), 1));
}

BOOST_AUTO_TEST_CASE(many_leases_of_a_slot_stay_below_the_next_gathering) {
  BOOST_TEST(attempt_base(Term(1), 1) + 1'000'000 < attempt_base(Term(1), 2));
}

BOOST_AUTO_TEST_SUITE_END()
