#include "routing/membership/election.h"

#include <boost/test/unit_test.hpp>

#include "routing/membership/term.h"
#include "tests/support/ids.h"

namespace {

using swarm::Term;
using swarm::routing::Candidate;
using swarm::routing::elect;
using swarm::routing::next_term;
using Kind = swarm::routing::ElectionDecision::Kind;
using swarm::testing::node;

bool is(const swarm::routing::ElectionDecision& decision, Kind kind) {
  return decision.kind == kind;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(Election)

BOOST_AUTO_TEST_CASE(the_smallest_living_node_takes_over_with_a_higher_term) {
  auto decision =
      elect({node(1), Term(0), false}, {{node(2), Term(7), false}, {node(3), Term(0), false}}, {});
  BOOST_TEST(is(decision, Kind::kTakeOver));
  BOOST_TEST(decision.term == next_term(Term(7), node(1)));
}

BOOST_AUTO_TEST_CASE(others_wait_for_the_smallest) {
  BOOST_TEST(is(elect({node(2), Term(0), false}, {{node(1), Term(0), false}}, {}), Kind::kWait));
}

BOOST_AUTO_TEST_CASE(a_dead_candidate_is_passed_over_but_its_term_counts) {
  auto decision = elect({node(2), Term(0), false}, {{node(1), Term(4), true}}, {node(1)});
  BOOST_TEST(is(decision, Kind::kTakeOver));
  BOOST_TEST(decision.term == next_term(Term(4), node(2)));
}

BOOST_AUTO_TEST_CASE(an_active_candidate_is_followed_whatever_its_id) {
  auto decision =
      elect({node(1), Term(0), false}, {{node(9), Term(3), true}, {node(2), Term(5), false}}, {});
  BOOST_TEST(is(decision, Kind::kFollow));
  BOOST_TEST((decision.leader == node(9)));
  BOOST_TEST(decision.term == Term(3));
}

BOOST_AUTO_TEST_CASE(of_two_active_ones_exactly_one_steps_down) {
  Candidate a{node(1), Term(3), true}, b{node(2), Term(3), true}, c{node(1), Term(4), true};
  BOOST_TEST(is(elect(a, {b}, {}), Kind::kStepDown));  // equal terms: the greater id leads
  BOOST_TEST(is(elect(b, {a}, {}), Kind::kLead));
  BOOST_TEST(is(elect(c, {b}, {}), Kind::kLead));
  BOOST_TEST(is(elect(b, {c}, {}), Kind::kStepDown));
}

BOOST_AUTO_TEST_CASE(who_has_led_in_vain_lets_the_others_try) {
  Candidate tried{node(1), Term(3), false, 9, /*yields=*/1};
  BOOST_TEST(is(elect(tried, {{node(2), Term(0), false}}, {}), Kind::kWait));
  BOOST_TEST(is(elect({node(2), Term(0), false}, {tried}, {}), Kind::kTakeOver));
  Candidate other{node(2), Term(4), false, 9, /*yields=*/1};
  BOOST_TEST(is(elect(tried, {other}, {}), Kind::kTakeOver));  // all have: the smallest again
  tried.yields = 2;
  BOOST_TEST(is(elect(tried, {other}, {}), Kind::kWait));  // the other tried longer ago
  BOOST_TEST(is(elect(other, {tried}, {}), Kind::kTakeOver));
  BOOST_TEST(is(elect(tried, {{node(2), Term(0), false}}, {node(2)}), Kind::kTakeOver));
}

// One record, and everybody refused the terms of whoever took over after it.
BOOST_AUTO_TEST_CASE(a_term_that_jumps_in_a_record_leads_nobody) {
  const Term last(~uint32_t{0}), seen = next_term(Term(7 << 12), node(3));
  for (const bool active : {false, true}) {
    const Candidate liar{node(9), last, active};
    auto decision = elect({node(1), seen, false}, {liar}, {node(9)});
    BOOST_TEST(is(decision, Kind::kTakeOver));
    BOOST_TEST(decision.term == next_term(seen, node(1)));
    decision = elect({node(1), Term(0), false}, {liar, {node(2), seen, false}}, {node(9)});
    BOOST_TEST(decision.term == next_term(seen, node(1)));
    BOOST_TEST(is(elect({node(1), seen, true}, {liar}, {}), Kind::kLead));
  }
  const Candidate liar{node(9), last, true}, leads{node(3), seen, true};
  BOOST_TEST((elect({node(1), Term(0), false}, {liar, leads}, {}).leader == node(3)));
  BOOST_TEST(is(elect({node(1), Term(0), false}, {liar}, {}), Kind::kFollow));
}

BOOST_AUTO_TEST_CASE(an_old_record_of_itself_changes_nothing) {
  Candidate self{node(1), Term(6), true};
  BOOST_TEST(is(elect(self, {{node(1), Term(9), false}}, {}), Kind::kLead));
}

BOOST_AUTO_TEST_SUITE_END()
