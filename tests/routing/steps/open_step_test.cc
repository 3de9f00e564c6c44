#include "routing/steps/open_step.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;
using swarm::testing::peer;

namespace {

constexpr Time kStart = 100s;

StageRound round_of_three() {
  StageRound round;
  round.at = StageRound::At::kAveraging;
  for (uint32_t n = 1; n <= 3; ++n) {
    round.answers[peer(n)] = StageRound::Kind::kPending;
    round.members.push_back({peer(n), "node", {}, {}});
  }
  return round;
}

CloseAnswer failed(std::vector<uint32_t> unreached, bool link) {
  CloseAnswer answer;
  answer.failed = RoundFailure{std::move(unreached), {ErrorCode::kCancelled, "a test"}, link};
  return answer;
}

/// By its own deadline.
CloseAnswer late(std::vector<uint32_t> nothing_from = {}) {
  CloseAnswer answer = failed(std::move(nothing_from), false);
  answer.failed->late = true;
  return answer;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RoundOfAStage)

// It was lost with its sum, though it waited for the same third member with a longer deadline.
BOOST_AUTO_TEST_CASE(who_has_longer_than_the_one_that_gave_up_is_excused_once_a_step) {
  StageRound round = round_of_three();
  round.began = kStart - 10s;
  round.take(peer(1), late(), kStart);
  BOOST_TEST((round.judge(kStart + 2'400ms).kind == RoundVerdict::Kind::kWait));
  auto verdict = round.judge(kStart + 2'600ms);
  BOOST_TEST((verdict.kind == RoundVerdict::Kind::kAbandon));
  BOOST_TEST(verdict.lost.empty());
  StageRound next = round_of_three();
  next.excused = round.excused;
  next.began = kStart;
  next.take(peer(1), late(), kStart + 1s);
  verdict = next.judge(kStart + 1'600ms);
  BOOST_TEST((verdict.lost == std::vector<PeerId>{peer(2), peer(3)}));
}

BOOST_AUTO_TEST_CASE(who_sent_nothing_is_not_excused_by_the_others_deadline) {
  StageRound round = round_of_three();
  round.began = kStart - 1s;
  round.take(peer(1), late({2}), kStart);
  const auto verdict = round.judge(kStart + 600ms);
  BOOST_TEST((verdict.lost == std::vector<PeerId>{peer(3)}));
}

BOOST_AUTO_TEST_CASE(who_hangs_is_lost_though_the_others_name_it) {
  StageRound round = round_of_three();
  round.take(peer(1), failed({2}, false), kStart);
  round.take(peer(2), failed({2}, false), kStart + 10ms);
  BOOST_TEST((round.judge(kStart + 400ms).kind == RoundVerdict::Kind::kWait));
  const auto verdict = round.judge(kStart + 600ms);
  BOOST_TEST((verdict.kind == RoundVerdict::Kind::kAbandon));
  BOOST_TEST((verdict.lost == std::vector<PeerId>{peer(3)}));
}

BOOST_AUTO_TEST_CASE(who_cannot_be_reached_is_not_at_fault_for_its_silence) {
  StageRound round = round_of_three();
  round.take(peer(1), failed({2}, true), kStart);
  round.take(peer(2), failed({}, true), kStart);
  const auto verdict = round.judge(kStart + 10ms);
  BOOST_TEST((verdict.kind == RoundVerdict::Kind::kAbandon));
  BOOST_TEST(verdict.lost.empty());
}

// The other end of the link notices later, and a third member hears of the failure from there.
BOOST_AUTO_TEST_CASE(a_third_member_gets_time_after_each_end_of_a_link_has_failed) {
  StageRound round = round_of_three();
  round.take(peer(1), failed({1}, true), kStart);
  BOOST_TEST((round.judge(kStart + 900ms).kind == RoundVerdict::Kind::kWait));
  round.take(peer(2), failed({0}, true), kStart + 900ms);
  BOOST_TEST((round.judge(kStart + 1'800ms).kind == RoundVerdict::Kind::kWait));
  const auto verdict = round.judge(kStart + 2s);  // it hangs, after all
  BOOST_TEST((verdict.lost == std::vector<PeerId>{peer(3)}));
}

BOOST_AUTO_TEST_SUITE_END()
