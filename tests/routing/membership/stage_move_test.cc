#include "routing/membership/stage_move.h"

#include <boost/test/unit_test.hpp>

namespace swarm::routing {
namespace {

using namespace std::chrono_literals;
using Answer = StageMove::Answer;

const StageMove::Order kOrder{3, Term(7), Stage(2)};
const StageMove::Order kOther{4, Term(7), Stage(1)};
constexpr bool kOwes = true, kYes = true;

struct Told {
  StageMove move;
  Told() { BOOST_TEST(move.told(kOrder)); }
};

BOOST_AUTO_TEST_SUITE(StageMoveTest)

BOOST_AUTO_TEST_CASE(who_was_told_nothing_serves) {
  StageMove move;
  BOOST_TEST(!move.under_way());
  BOOST_TEST(!move.asks(!kOwes, 1s));
  BOOST_TEST(!move.lapses(0, Term(7)));
  BOOST_TEST(!move.lapses(5, Term(7)));
  BOOST_TEST(!move.end());
  BOOST_TEST((move.answered(kOrder, kYes, {}, 1s) == Answer::kNone));
}

BOOST_FIXTURE_TEST_CASE(it_asks_once_when_all_is_finished_and_goes, Told) {
  BOOST_TEST(move.under_way());
  BOOST_TEST(!move.asks(kOwes, 1s));
  BOOST_TEST(move.asks(!kOwes, 2s));
  BOOST_TEST(!move.asks(!kOwes, 60s));  // the answer is still to come
  BOOST_TEST((move.answered(kOrder, kYes, {}, 61s) == Answer::kGo));
  BOOST_TEST(!move.under_way());
  BOOST_TEST(!move.told(kOther));
  BOOST_TEST((move.answered(kOrder, kYes, {}, 62s) == Answer::kNone));
}

BOOST_FIXTURE_TEST_CASE(an_order_that_is_said_again_changes_nothing, Told) {
  BOOST_TEST(move.asks(!kOwes, 1s));
  BOOST_TEST(!move.told(kOrder));
  BOOST_TEST(!move.asks(!kOwes, 2s));
  BOOST_TEST((move.answered(kOrder, kYes, {}, 3s) == Answer::kGo));
}

BOOST_FIXTURE_TEST_CASE(another_order_takes_its_place_and_its_answer_counts_for_nothing, Told) {
  BOOST_TEST(move.asks(!kOwes, 1s));
  BOOST_TEST(move.told(kOther));
  BOOST_TEST((move.order() == kOther));
  BOOST_TEST((move.answered(kOrder, kYes, {}, 2s) == Answer::kNone));
  BOOST_TEST(move.asks(!kOwes, 2s));
  BOOST_TEST((move.answered(kOther, kYes, {}, 3s) == Answer::kGo));
}

BOOST_FIXTURE_TEST_CASE(no_lets_it_serve_on, Told) {
  BOOST_TEST(move.asks(!kOwes, 1s));
  BOOST_TEST((move.answered(kOrder, !kYes, {}, 2s) == Answer::kServeOn));
  BOOST_TEST(!move.under_way());
  BOOST_TEST(move.told(kOther));
}

BOOST_FIXTURE_TEST_CASE(it_asks_again_when_it_is_told_to_but_not_before, Told) {
  BOOST_TEST(move.asks(!kOwes, 1s));
  BOOST_TEST((move.answered(kOrder, !kYes, 500ms, 2s) == Answer::kLater));
  BOOST_TEST(!move.asks(!kOwes, 2400ms));
  BOOST_TEST(!move.asks(kOwes, 2600ms));
  BOOST_TEST(move.asks(!kOwes, 2600ms));
  BOOST_TEST((move.answered(kOrder, !kYes, 1h, 3s) == Answer::kLater));
  BOOST_TEST(move.asks(!kOwes, 3s + StageMove::kLongestRetry));
}

BOOST_FIXTURE_TEST_CASE(a_verdict_with_another_order_or_term_ends_it, Told) {
  BOOST_TEST(!move.lapses(3, Term(7)));
  BOOST_TEST(move.under_way());
  StageMove other = move;
  BOOST_TEST(other.lapses(3, Term(8)));
  BOOST_TEST(!other.under_way());
  BOOST_TEST(move.lapses(0, Term(7)));
  BOOST_TEST(!move.lapses(0, Term(7)));
}

BOOST_FIXTURE_TEST_CASE(yes_to_one_that_has_another_state_since_counts_for_nothing, Told) {
  BOOST_TEST(move.asks(!kOwes, 1s));
  BOOST_TEST(move.end());
  BOOST_TEST((move.answered(kOrder, kYes, {}, 2s) == Answer::kNone));
}

struct Leaves {
  StageMove move;
  Leaves() { BOOST_TEST(move.leave(20s)); }
};

BOOST_FIXTURE_TEST_CASE(whose_node_ends_asks_before_it_has_finished_too, Leaves) {
  BOOST_TEST(move.leaves());
  BOOST_TEST(move.asks(kOwes, 1s));
  BOOST_TEST(move.waits_for_answer());
  BOOST_TEST(!move.asks(!kOwes, 2s));
  BOOST_TEST(!move.may_end(!kYes, 200ms, {}, 2s));
  BOOST_TEST(!move.asks(kOwes, 2100ms));
  BOOST_TEST(move.asks(kOwes, 2200ms));
  BOOST_TEST(move.may_end(kYes, {}, {}, 3s));
  BOOST_TEST(!move.under_way());
  BOOST_TEST(!move.expired(30s));
}

BOOST_FIXTURE_TEST_CASE(no_order_and_no_verdict_keeps_it, Leaves) {
  BOOST_TEST(!move.told(kOrder));
  BOOST_TEST(!move.lapses(0, Term(7)));
  BOOST_TEST(!move.end());
  BOOST_TEST(move.leaves());
  BOOST_TEST(!move.leave(60s));
  BOOST_TEST(move.asks(!kOwes, 1s));
  BOOST_TEST((move.answered(StageMove::Order(), kYes, {}, 1s) == Answer::kNone));
}

BOOST_FIXTURE_TEST_CASE(it_goes_when_what_it_waits_for_takes_longer_than_it_has, Leaves) {
  BOOST_TEST(move.asks(kOwes, 1s));
  BOOST_TEST(!move.may_end(!kYes, 200ms, 18s, 1s));
  BOOST_TEST(move.asks(kOwes, 5s));
  BOOST_TEST(move.may_end(!kYes, 200ms, 16s, 5s));
  BOOST_TEST(!move.under_way());
}

BOOST_FIXTURE_TEST_CASE(its_time_ends_whether_or_not_it_is_answered, Leaves) {
  BOOST_TEST(move.asks(kOwes, 1s));
  BOOST_TEST(!move.expired(19s));
  BOOST_TEST(move.expired(20s));
}

BOOST_FIXTURE_TEST_CASE(a_mover_whose_node_ends_leaves_instead, Told) {
  BOOST_TEST(move.asks(!kOwes, 1s));
  BOOST_TEST(move.leave(20s));
  BOOST_TEST((move.answered(kOrder, kYes, {}, 2s) == Answer::kNone));
  BOOST_TEST(move.leaves());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
