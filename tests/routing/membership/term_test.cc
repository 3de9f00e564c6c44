#include "routing/membership/term.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "routing/membership/term_lead.h"
#include "tests/support/ids.h"

namespace {

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;
using namespace std::chrono_literals;

const uint64_t kAtOnce = TermLead().left({});

Term numbered(uint64_t number) { return Term(number << kTermNodeBits); }

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
  const Term near = numbered(1 + kTermJump), far = numbered(2 + kTermJump);
  BOOST_TEST(!jumps(near, ours));
  BOOST_TEST(jumps(far, ours));
  BOOST_TEST(TermLead().allows(near, ours, 0s));
  BOOST_TEST(!TermLead().allows(far, ours, 0s));
  BOOST_TEST(is_term(far));
  BOOST_TEST(!is_term(Term(uint64_t{1} << kTermBits)));
  BOOST_TEST(!is_term(Term(~uint64_t{0})));
}

// All peers refused who took over from there.
BOOST_AUTO_TEST_CASE(the_term_after_the_last_number_is_a_term) {
  const Term last = numbered(kLastTermNumber);
  BOOST_TEST(is_term(last));
  BOOST_TEST(!is_term(numbered(kLastTermNumber + 1)));
  BOOST_TEST(is_term(next_term(numbered(kLastTermNumber - 1), node(1))));
  BOOST_TEST(is_term(next_term(last, node(1))));
  BOOST_TEST(term_number(next_term(last, node(1))) == kLastTermNumber);
  BOOST_TEST(is_of(next_term(last, node(1)), node(1)));
  BOOST_TEST(is_term(next_term(Term(~uint64_t{0}), node(1))));
}

// 1,024 messages led to the end, after which nobody coordinates.
BOOST_AUTO_TEST_CASE(whoever_says_ever_higher_terms_is_followed_slowly) {
  TermLead lead;
  Term known;
  const auto walk = [&](Time now) {
    for (int i = 0; i < 5'000; ++i) {
      const Term more = known + (kTermJump << kTermNodeBits), one = known + (1u << kTermNodeBits);
      const Term said = lead.allows(more, known, now) ? more : one;
      if (!lead.allows(said, known, now)) return;
      lead.led(term_number(said) - term_number(known), now);
      known = said;
    }
  };
  walk(1'000s);
  BOOST_TEST(term_number(known) == kAtOnce);
  for (Time now = 1'000s; now <= 2'000s; now += 1s) walk(now);
  BOOST_TEST(term_number(known) == kAtOnce + 200);
  walk(1'000'000s);  // after a pause so many at once again
  BOOST_TEST(term_number(known) == 2 * kAtOnce + 200);
}

BOOST_AUTO_TEST_CASE(a_record_leads_who_knows_nothing_far_and_others_as_a_message_does) {
  const Term high = numbered(300'000), last = numbered(kLastTermNumber);
  TermLead fresh;
  BOOST_TEST(fresh.reaches(high, Term(), 0s));
  BOOST_TEST(fresh.follow(high, Term(), 0s) == high);
  BOOST_TEST(fresh.left(0s) == kAtOnce);
  BOOST_TEST(!fresh.reaches(last, Term(), 0s));
  BOOST_TEST(term_number(fresh.follow(last, Term(), 0s)) == kLastTermNumber / 2 + kAtOnce);
  TermLead knows;
  const Term known = numbered(10);
  BOOST_TEST(!knows.reaches(high, known, 0s));
  BOOST_TEST(knows.reaches(numbered(10 + kAtOnce), known, 0s));
  Term led = knows.follow(high, known, 0s);
  BOOST_TEST(term_number(led) == 10 + kAtOnce);
  BOOST_TEST(knows.follow(high, led, 0s) == led);
  BOOST_TEST(knows.follow(known, led, 0s) == led);
  BOOST_TEST(term_number(knows.follow(high, led, 30s)) == 16 + kAtOnce);
}

BOOST_AUTO_TEST_SUITE_END()
