#include "apps/launch/preemption_poll.h"

#include <boost/test/unit_test.hpp>
#include <csignal>

using swarm::launch::ExitStatus;
using swarm::launch::PreemptionPoll;
using swarm::launch::Verdict;

namespace {

ExitStatus exited(int code) { return {code, 0}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(PreemptionPollTest)

BOOST_AUTO_TEST_CASE(it_looks_at_once_and_then_once_a_period) {
  PreemptionPoll poll(5);
  BOOST_TEST(poll.looks(100));
  BOOST_TEST(!poll.looks(104.9));
  BOOST_TEST(poll.looks(105));
  BOOST_TEST(!poll.looks(109.9));
}

BOOST_AUTO_TEST_CASE(no_command_is_started_beside_another) {
  PreemptionPoll poll(1);
  BOOST_TEST(poll.looks(0));
  poll.began(0);
  BOOST_TEST(!poll.looks(4));
  BOOST_TEST((poll.ended(exited(1)) == Verdict::kNothing));
  BOOST_TEST(poll.looks(4));
}

BOOST_AUTO_TEST_CASE(a_command_has_five_seconds_and_no_answer_means_no) {
  PreemptionPoll poll(1);
  BOOST_TEST(!poll.overdue(10));  // none runs
  poll.began(10);
  BOOST_TEST(!poll.overdue(14.9));
  BOOST_TEST(poll.overdue(15));
  BOOST_TEST((poll.ended({0, SIGKILL}) == Verdict::kNothing));
  BOOST_TEST(!poll.overdue(20));
}

BOOST_AUTO_TEST_CASE(only_exit_code_0_means_that_the_machine_goes) {
  for (const int code : {1, 2, 22, 125, 128, 255}) {
    PreemptionPoll poll(5);
    BOOST_TEST((poll.ended(exited(code)) == Verdict::kNothing), code);
    BOOST_TEST((poll.ended(exited(0)) == Verdict::kLeave));
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_run_is_told_once) {
  for (const int code : {126, 127}) {
    PreemptionPoll poll(5);
    BOOST_TEST((poll.ended(exited(code)) == Verdict::kTell));
    BOOST_TEST((poll.ended(exited(code)) == Verdict::kNothing));
    BOOST_TEST((poll.not_asked() == Verdict::kNothing));
    BOOST_TEST((poll.ended(exited(0)) == Verdict::kLeave));
  }
  PreemptionPoll poll(5);
  BOOST_TEST((poll.not_asked() == Verdict::kTell));
  BOOST_TEST((poll.not_asked() == Verdict::kNothing));
}

BOOST_AUTO_TEST_SUITE_END()
