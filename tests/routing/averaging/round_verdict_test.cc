#include "routing/averaging/round_verdict.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

namespace {

using swarm::routing::judge_round;
using swarm::routing::MemberAnswer;
using swarm::testing::peer;
using Answer = MemberAnswer::Kind;
using Kind = swarm::routing::RoundVerdict::Kind;

swarm::routing::RoundVerdict judge(const std::vector<Answer>& answers, bool grace_over = false) {
  std::vector<MemberAnswer> members;
  for (size_t i = 0; i < answers.size(); ++i)
    members.push_back({peer(static_cast<int>(i) + 1), answers[i]});
  return judge_round(members, grace_over);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RoundVerdict)

BOOST_AUTO_TEST_CASE(a_round_is_averaged_only_when_every_member_holds_the_average) {
  BOOST_TEST((judge({Answer::kAveraged, Answer::kAveraged}).kind == Kind::kAveraged));
  BOOST_TEST((judge({Answer::kAveraged, Answer::kPending}, true).kind == Kind::kWait));
}

BOOST_AUTO_TEST_CASE(a_lost_member_ends_the_round_at_once_and_blames_nobody_else) {
  auto verdict = judge({Answer::kPending, Answer::kLost, Answer::kAveraged});
  BOOST_TEST((verdict.kind == Kind::kAbandon));
  BOOST_TEST((verdict.lost == std::vector<swarm::PeerId>{peer(2)}));
  BOOST_TEST(verdict.dropped.empty());
}

BOOST_AUTO_TEST_CASE(a_member_with_another_sum_ends_the_round_and_is_not_lost) {
  auto verdict = judge({Answer::kPending, Answer::kHoldsMore});
  BOOST_TEST((verdict.kind == Kind::kAbandon));
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST((verdict.dropped == std::vector<swarm::PeerId>{peer(2)}));
}

BOOST_AUTO_TEST_CASE(after_a_failure_the_living_get_time_to_answer) {
  BOOST_TEST((judge({Answer::kFailed, Answer::kPending}).kind == Kind::kWait));
  auto verdict = judge({Answer::kFailed, Answer::kPending}, true);
  BOOST_TEST((verdict.kind == Kind::kAbandon));
  BOOST_TEST((verdict.lost == std::vector<swarm::PeerId>{peer(2)}));
}

BOOST_AUTO_TEST_CASE(when_all_have_failed_nobody_is_lost) {
  auto verdict = judge({Answer::kFailed, Answer::kFailed});
  BOOST_TEST((verdict.kind == Kind::kAbandon));
  BOOST_TEST(verdict.lost.empty());
}

BOOST_AUTO_TEST_SUITE_END()
