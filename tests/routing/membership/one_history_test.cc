// The rule of docs/one_history.md against all that can happen to five voters.
#include <boost/test/unit_test.hpp>

#include "tests/routing/membership/one_history_model.h"
#include "tests/support/sanitized.h"

using namespace swarm::testing::one_history;

namespace {

ModelLimits limits(int crashes, int changes, int commits, int gatherings) {
  ModelLimits limits;
  limits.crashes = crashes;
  limits.changes = changes;
  limits.commits = commits;
  limits.gatherings = gatherings;
  return limits;
}

/// Cuts, and coordinators that speak to all they reach but for `partial` times.
ModelLimits with_cuts(ModelLimits limits, uint32_t partial) {
  limits.cuts = true;
  limits.partial = partial;
  return limits;
}

void check_holds(const ModelLimits& limits) {
  HistoryModel model(limits, Weakness::kNone);
  BOOST_TEST(model.holds(), model.violation());
  BOOST_TEST_MESSAGE(model.worlds() << " worlds");
}

/// The checker sees what is wrong.
void check_broken(const ModelLimits& limits, Weakness weakness, const std::string& how) {
  HistoryModel model(limits, weakness);
  BOOST_TEST(!model.holds());
  BOOST_TEST(model.violation().find(how) != std::string::npos, model.violation());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(OneHistoryTest)

BOOST_AUTO_TEST_CASE(a_commit_and_a_gathering_in_every_order_make_one_history) {
  check_holds(limits(0, 0, 1, 1));
}

BOOST_AUTO_TEST_CASE(a_change_of_the_list_and_a_gathering_in_every_order_make_one_configuration) {
  check_holds(limits(0, 1, 0, 1));
}

BOOST_AUTO_TEST_CASE(a_cut_with_a_change_and_a_crash_between_vote_and_commit_leaves_one_history) {
  check_holds(with_cuts(limits(1, 1, 1, 1), 0));
}

BOOST_AUTO_TEST_CASE(two_cuts_with_a_crash_between_vote_and_commit_leave_one_history,
                     *boost::unit_test::enable_if<!swarm::testing::kSanitized>()) {
  check_holds(with_cuts(limits(1, 0, 1, 2), 0));
}

BOOST_AUTO_TEST_CASE(two_cuts_with_changes_of_the_list_leave_one_configuration) {
  check_holds(with_cuts(limits(0, 1, 0, 2), 0));
}

// The list after a commit is who answered it. Only those whom the commit reached know that; the others are cut off,
// are most of the list that they know, and make another one.
BOOST_AUTO_TEST_CASE(voting_over_who_answered_the_last_commit_splits) {
  check_broken(with_cuts(limits(0, 0, 2, 1), 1), Weakness::kWhoAnsweredLast,
               "two configurations of one number hold");
}

BOOST_AUTO_TEST_CASE(a_change_that_only_the_new_list_stores_splits) {
  check_broken(with_cuts(limits(1, 1, 1, 1), 0), Weakness::kNewListOnly,
               "two configurations of one number hold");
}

BOOST_AUTO_TEST_CASE(counting_who_has_forgotten_its_vote_loses_a_commit) {
  check_broken(with_cuts(limits(1, 1, 1, 1), 0), Weakness::kForgetful,
               "does not know of the last commit");
}

BOOST_AUTO_TEST_CASE(counting_votes_of_dead_processes_loses_a_commit) {
  check_broken(with_cuts(limits(1, 1, 1, 1), 0), Weakness::kOldProcesses,
               "does not know of the last commit");
}

BOOST_AUTO_TEST_CASE(answering_a_lower_ballot_loses_a_commit) {
  check_broken(limits(0, 0, 1, 1), Weakness::kNoPromise, "does not know of the last commit");
}

BOOST_AUTO_TEST_SUITE_END()
