#include "routing/membership/term.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/support/ids.h"

namespace {

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

}  // namespace

BOOST_AUTO_TEST_SUITE(Terms)

BOOST_AUTO_TEST_CASE(two_nodes_that_take_over_from_the_same_term_get_different_ones) {
  std::set<Term> taken;
  for (uint8_t n = 1; n <= 20; ++n) {
    const Term next = next_term(Term(), node(n));
    BOOST_TEST(term_number(next) == 1u);
    BOOST_TEST(taken.insert(next).second, "node " << int(n));
  }
}

BOOST_AUTO_TEST_CASE(a_later_number_is_above_every_earlier_one_whichever_the_nodes) {
  Term highest;
  for (uint8_t n = 1; n <= 50; ++n) {
    const Term next = next_term(highest, node(n % 7));
    BOOST_TEST(next > highest);
    BOOST_TEST(term_number(next) == n);
    highest = next;
  }
}

// A coordinator that raised its term is not told of it as if another had had it: it would raise it
// again, for ever.
BOOST_AUTO_TEST_CASE(every_term_of_a_node_is_known_as_its_own_and_others_are_not) {
  Term term;
  for (uint8_t n = 1; n <= 20; ++n) {
    term = next_term(term, node(n % 2));
    BOOST_TEST(is_of(term, node(n % 2)));
    BOOST_TEST(!is_of(term, node((n + 1) % 2)));
  }
}

BOOST_AUTO_TEST_CASE(rounds_name_their_term_and_grow_over_terms) {
  const Term first = next_term(Term(), node(1)), second = next_term(first, node(2));
  BOOST_TEST((term_of(round_of(first, 77)) == first));
  BOOST_TEST(round_of(first, 0xffffffffu) < round_of(second, 1));
  BOOST_TEST(round_of(first, 3) != round_of(next_term(Term(), node(2)), 3));
}

BOOST_AUTO_TEST_CASE(a_message_leads_no_further_than_a_jump) {
  const Term ours = next_term(Term(), node(1));
  const Term near(uint64_t{1 + kTermJump} << kTermNodeBits);
  const Term far(uint64_t{2 + kTermJump} << kTermNodeBits);
  BOOST_TEST(!jumps(near, ours));
  BOOST_TEST(jumps(far, ours));
  BOOST_TEST(within_jump(near, ours) == near);
  BOOST_TEST(within_jump(far, ours) == near);
  BOOST_TEST(is_term(far));
  BOOST_TEST(!is_term(Term(uint64_t{1} << kTermBits)));
  BOOST_TEST(!is_term(Term(~uint64_t{0})));
  // Who was led there by steps comes as far as it is.
  Term now = ours;
  const Term known(uint64_t{9'000} << kTermNodeBits);
  for (int i = 0; i < 9 && now < known; ++i) now = next_term(within_jump(known, now), node(1));
  BOOST_TEST(now > known);
}

BOOST_AUTO_TEST_SUITE_END()
