#include "routing/wiring/deadline.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <limits>
#include <vector>

#include "routing/wiring/answer_pace.h"
#include "routing/wiring/peer_choice.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;
namespace tt = boost::test_tools;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// One sender with `in_flight` under way at one peer: the first is back after `first_s`, then one
/// every `each_s`. How many would have been given up by the deadlines that they were sent with.
struct Pipeline {
  uint64_t bytes = 0;
  double first_s = 1, each_s = 1;
  size_t in_flight = 16;
  bool by_bytes = true;

  int given_up(int microbatches) const {
    PeerEstimatesOptions options;
    PeerChoice choice(options, WiringCost::kOccupancy, 1);
    choice.add(peer(1));
    struct Sent {
      double at_s, deadline_s;
    };
    std::deque<Sent> under_way;
    double now_s = 0;
    int late = 0;
    for (int done = 0; done < microbatches; ++done) {
      while (under_way.size() < in_flight) {
        Tries tries;
        choice.pick(tries, 1, now_s).value();
        Way way;
        way.bytes = bytes;
        way.boundaries = boundaries_from(0, 3);
        way.ahead = static_cast<double>(under_way.size());
        way.paced_s = choice.paced_s(peer(1), choice.unfinished_samples(peer(1)));
        double deadline_s = 2 * choice.deadline_s(peer(1), 1);  // two stages behind
        if (by_bytes) deadline_s = std::max(deadline_s, least_deadline_s(way));
        under_way.push_back({now_s, deadline_s});
      }
      now_s += done == 0 ? first_s : each_s;
      const Sent sent = under_way.front();
      under_way.pop_front();
      late += now_s - sent.at_s > sent.deadline_s ? 1 : 0;
      choice.ended(peer(1), 1);
      choice.answered(peer(1), 1, now_s - sent.at_s, {0.5, 5.4, 0, 0}, 0.0);
      choice.came(peer(1), 1, now_s - sent.at_s, now_s);
    }
    return late;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(DeadlineTest)

BOOST_AUTO_TEST_CASE(tokens_cross_no_boundary_of_their_own) {
  BOOST_TEST(boundaries_from(0, 3) == 2u);
  BOOST_TEST(boundaries_from(1, 3) == 2u);
  BOOST_TEST(boundaries_from(2, 3) == 1u);
  BOOST_TEST(boundaries_from(0, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(before_any_answer_the_bytes_decide_as_if_links_were_slow) {
  BOOST_TEST(least_deadline_s({8'000'000, 1, 0, 0, {}}) == 16);
  BOOST_TEST(least_deadline_s({8'000'000, 2, 3, 0, {}}) == 80);
  BOOST_TEST(least_deadline_s({8'000'000, 2, 3, 100, {}}) == 300);  // its own queue is longer
  BOOST_TEST(least_deadline_s({8'000'000, 0, 3, 0, {}}) == 0);
}

BOOST_AUTO_TEST_CASE(the_pace_of_the_answers_takes_the_place_of_the_guess) {
  BOOST_TEST(least_deadline_s({8'000'000, 2, 3, 0, 5.0}) == 15);
  BOOST_TEST(least_deadline_s({8'000'000, 2, 3, 7, 5.0}) == 21);
}

BOOST_AUTO_TEST_CASE(small_bodies_have_the_deadlines_that_they_had) {
  BOOST_TEST(least_deadline_s({1u << 20, 3, 4, 0, {}}) < PeerEstimatesOptions().first_deadline_s);
  BOOST_TEST(least_deadline_s({1u << 20, 3, 4, 0, 0.2}) < PeerEstimatesOptions().min_deadline_s);
}

BOOST_AUTO_TEST_CASE(no_deadline_is_longer_than_a_day) {
  BOOST_TEST(least_deadline_s({1ull << 40, 60, 1e6, kInf, {}}) == kLongestDeadlineS);
  BOOST_TEST(least_deadline_s({1, 1, 0, kInf, kInf}) == kLongestDeadlineS);
}

// 64 MiB over 100 Mb/s, 16 under way: 172 s for each, and the longest deadline was 240 s at the
// first stage, the first ones 60 s.
BOOST_AUTO_TEST_CASE(large_bodies_are_waited_for_from_the_first_on) {
  Pipeline pipeline;
  pipeline.bytes = 64u << 20;
  pipeline.first_s = 25;
  pipeline.each_s = 10.7;
  BOOST_TEST(pipeline.given_up(200) == 0);
  pipeline.by_bytes = false;
  BOOST_TEST(pipeline.given_up(200) > 0);
}

BOOST_AUTO_TEST_CASE(many_under_way_are_waited_for_beyond_the_longest_deadline) {
  Pipeline pipeline;
  pipeline.bytes = 64u << 20;
  pipeline.first_s = 25;
  pipeline.each_s = 10.7;
  pipeline.in_flight = 64;
  BOOST_TEST(pipeline.given_up(400) == 0);
  pipeline.by_bytes = false;
  BOOST_TEST(pipeline.given_up(400) > 100);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(AnswerPaceTest)

BOOST_AUTO_TEST_CASE(the_first_wait_is_a_bound_until_there_is_an_interval) {
  AnswerPace pace;
  BOOST_TEST(!pace.seconds_per_sample().has_value());
  pace.begins();
  pace.answered(2, 8, 8);
  BOOST_TEST(pace.seconds_per_sample().value() == 4);
  BOOST_TEST(!pace.seen());
  pace.answered(2, 9, 9);
  BOOST_TEST(pace.seen());
  BOOST_TEST(pace.seconds_per_sample().value() == 0.5);
}

BOOST_AUTO_TEST_CASE(time_without_anything_under_way_is_no_interval) {
  AnswerPace pace;
  pace.begins();
  pace.answered(1, 3, 3);
  pace.answered(1, 3, 4);
  pace.begins();
  pace.answered(1, 3, 1000);
  BOOST_TEST(pace.seconds_per_sample().value() == 1);
}

BOOST_AUTO_TEST_CASE(answers_that_come_together_are_taken_on_average) {
  AnswerPace pace;
  pace.begins();
  double now_s = 0;
  for (int i = 0; i < 200; ++i) {
    now_s += i % 2 == 0 ? 0 : 2;
    pace.answered(1, 4, now_s);
  }
  BOOST_TEST(pace.seconds_per_sample().value() == 1, tt::tolerance(0.25));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_says_nothing) {
  AnswerPace pace;
  pace.begins();
  pace.answered(0, 1, 1);
  pace.answered(1, kInf, 2);
  pace.answered(1, -1, 3);
  BOOST_TEST(!pace.seconds_per_sample().has_value());
}

// Each microbatch that is lost would make the next deadline three times longer.
BOOST_AUTO_TEST_CASE(the_wait_for_what_was_lost_is_no_pace) {
  PeerChoice choice({}, WiringCost::kOccupancy, 1);
  choice.add(peer(1));
  double now_s = 0;
  auto send = [&] {
    Tries tries;
    (void)choice.pick(tries, 1, now_s);
  };
  send();  // this one is lost
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 2; ++k) {
      send();
      choice.ended(peer(1), 1);
      choice.came(peer(1), 1, 0.1, now_s += 0.1);
    }
    BOOST_TEST(choice.paced_s(peer(1), 1).value() == 0.1, tt::tolerance(0.01));
    send();  // and so is this one: something is always under way
    now_s += 10;
    choice.ended(peer(1), 1);
    choice.timed_out(peer(1), 1, 10);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_not_answered_is_taken_to_be_like_the_slowest) {
  PeerChoice choice({}, WiringCost::kOccupancy, 1);
  for (uint32_t i = 1; i <= 3; ++i) choice.add(peer(i));
  BOOST_TEST(!choice.paced_s(peer(3), 1).has_value());
  for (int i = 0; i < 3; ++i) {
    Tries tries;
    (void)choice.pick(tries, 1, 0);
  }
  choice.came(peer(1), 1, 2, 2);
  choice.came(peer(2), 1, 5, 5);
  BOOST_TEST(choice.paced_s(peer(1), 3).value() == 6);
  BOOST_TEST(choice.paced_s(peer(3), 2).value() == 10);
  BOOST_TEST(!choice.pace_seen(peer(1)));
  BOOST_TEST(!choice.pace_seen(peer(3)));
  choice.came(peer(1), 1, 2, 4);
  BOOST_TEST(choice.pace_seen(peer(1)));
}

BOOST_AUTO_TEST_SUITE_END()
