#include "routing/steps/microbatch_window.h"

#include <boost/test/unit_test.hpp>

#include "routing/steps/attempts.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;

namespace {
ErrorCode verdict(const MicrobatchWindow& window, uint64_t step, uint64_t attempt = 9,
                  uint64_t min_attempt = 0) {
  auto status = admits(window, Attempt(min_attempt), {Step(step), Slot(0), Attempt(attempt)});
  return status ? ErrorCode::kNone : status.error().code;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(MicrobatchWindowTest)

BOOST_AUTO_TEST_CASE(only_the_open_step_is_served) {
  const auto window = step_window(Step(5), /*next_may_come=*/false);
  BOOST_TEST(verdict(window, 4) == ErrorCode::kStaleStep);
  BOOST_TEST(verdict(window, 5) == ErrorCode::kNone);
  BOOST_TEST(verdict(window, 6) == ErrorCode::kNotReady);
}

BOOST_AUTO_TEST_CASE(the_next_step_may_overtake_the_commit_but_is_not_computed) {
  const auto window = step_window(Step(5), /*next_may_come=*/true);
  BOOST_TEST(verdict(window, 6) == ErrorCode::kNone);
  BOOST_TEST(verdict(window, 7) == ErrorCode::kNotReady);
  BOOST_TEST(window.computed == Step(5));
}

BOOST_AUTO_TEST_CASE(an_attempt_of_a_history_that_was_given_up_is_refused) {
  const auto window = step_window(Step(5), false);
  BOOST_TEST(verdict(window, 5, /*attempt=*/99, /*min_attempt=*/100) == ErrorCode::kStaleStep);
  BOOST_TEST(verdict(window, 5, /*attempt=*/100, /*min_attempt=*/100) == ErrorCode::kNone);
}

/// A part that was cut off, and has trained on, computed with its own parameters for the part that had gone
/// back and reached the same step again (simulator, delayed updates: seeds 6600019 all, 6600034 lasting).
BOOST_AUTO_TEST_CASE(an_attempt_of_a_gathering_that_went_on_without_the_peer_waits) {
  const auto window = step_window(Step(5), false);
  const Term ours = next_term(Term(), testing::node(1));
  const Term theirs = next_term(ours, testing::node(2));
  const uint64_t base = attempt_base(ours, 3).value();
  BOOST_TEST(verdict(window, 5, base + 7, base) == ErrorCode::kNone);
  BOOST_TEST(verdict(window, 5, attempt_base(ours, 4).value() + 1, base) == ErrorCode::kNotReady);
  BOOST_TEST(verdict(window, 5, attempt_base(theirs, 0).value() + 1, base) == ErrorCode::kNotReady);
}

BOOST_AUTO_TEST_CASE(periods_overlap_and_nothing_waits) {
  const auto window = period_window(Step(20), /*open_periods=*/8);
  BOOST_TEST(verdict(window, 11) == ErrorCode::kStaleStep);
  BOOST_TEST(verdict(window, 12) == ErrorCode::kNone);
  BOOST_TEST(verdict(window, 36) == ErrorCode::kNone);
  BOOST_TEST(verdict(window, 37) == ErrorCode::kNotReady);
  BOOST_TEST(window.computed == window.newest);
}

BOOST_AUTO_TEST_CASE(the_first_periods_have_none_before_them) {
  BOOST_TEST(verdict(period_window(Step(3), 8), 0) == ErrorCode::kNone);
}

BOOST_AUTO_TEST_SUITE_END()
