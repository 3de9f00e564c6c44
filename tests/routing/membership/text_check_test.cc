#include "routing/membership/text_check.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

namespace swarm::routing {
namespace {

using testing::peer;
using Verdict = TextCheck::Verdict;

RunText text(uint64_t fingerprint) { return {fingerprint, "path", "node"}; }

BOOST_AUTO_TEST_SUITE(TextCheckTest)

BOOST_AUTO_TEST_CASE(the_first_trainer_of_a_fresh_run_brings_the_text) {
  TextCheck check;
  BOOST_TEST((check.judge(text(7), true) == Verdict::kSame));
  BOOST_TEST((check.judge(text(7), true) == Verdict::kSame));
  BOOST_TEST((check.judge(text(8), true) == Verdict::kOther));
  BOOST_TEST(check.text().fingerprint == 7u);
}

BOOST_AUTO_TEST_CASE(what_peers_remember_counts_before_what_a_trainer_brings) {
  TextCheck check;
  BOOST_TEST((check.judge(text(8), false) == Verdict::kWait));
  check.remember(text(7));
  check.remember(text(9));  // the first word counts
  BOOST_TEST((check.judge(text(8), true) == Verdict::kOther));
  BOOST_TEST((check.judge(text(7), false) == Verdict::kSame));
}

BOOST_AUTO_TEST_CASE(who_says_nothing_of_its_text_is_not_judged_and_brings_none) {
  TextCheck check;
  check.remember({});
  BOOST_TEST((check.judge({}, true) == Verdict::kSame));
  BOOST_TEST(!check.text().known());
}

BOOST_AUTO_TEST_CASE(a_refusal_is_told_once_for_each_trainer) {
  TextCheck check;
  BOOST_TEST(check.first_refusal(peer(1, "trainer")));
  BOOST_TEST(!check.first_refusal(peer(1, "trainer")));
  BOOST_TEST(check.first_refusal(peer(2, "trainer")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
