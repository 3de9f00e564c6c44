#include "routing/state/kept_snapshot.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;

BOOST_AUTO_TEST_SUITE(KeptSnapshotTest)

BOOST_AUTO_TEST_CASE(the_last_word_of_a_term_holds_whichever_arrives_last) {
  KeptSnapshot kept;
  BOOST_TEST(!kept.step().has_value());
  BOOST_TEST(kept.heard(Term(5), {Step(2), 1}));
  BOOST_TEST(kept.heard(Term(5), {Step(4), 3}));
  BOOST_TEST(!kept.heard(Term(5), {Step(3), 2}));
  BOOST_TEST(!kept.heard(Term(5), {Step(4), 3}));
  BOOST_TEST(!kept.heard(Term(5), {Step(4), 4}));  // the same one
  BOOST_TEST(*kept.step() == Step(4));
}

// The third word of a coordinator that was paused, heard late, outdid the first two of the one after it: the
// snapshot that everything could be resumed from was pruned.
BOOST_AUTO_TEST_CASE(a_late_word_of_an_older_term_does_not_outdo_those_of_the_next) {
  KeptSnapshot kept;
  BOOST_TEST(kept.heard(Term(5), {Step(2), 3}));
  BOOST_TEST(kept.heard(Term(8), {Step(3), 1}));
  BOOST_TEST(!kept.heard(Term(5), {Step(2), 4}));
  BOOST_TEST(kept.heard(Term(8), {Step(4), 2}));
  BOOST_TEST(*kept.step() == Step(4));
}

BOOST_AUTO_TEST_SUITE_END()
