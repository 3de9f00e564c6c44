#include "apps/bench/figures/churn_trace_file.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "apps/bench/figures/churn_replay.h"

namespace swarm::apps {
namespace {

namespace close = boost::test_tools;

std::string refusal(const std::string& text) {
  const auto trace = parse_trace(text, "spot.txt");
  return trace ? "" : trace.error().detail;
}

BOOST_AUTO_TEST_SUITE(churn_trace_file)

BOOST_AUTO_TEST_CASE(lines_with_blanks_commas_and_comments_are_events_from_the_first_on) {
  const auto trace = parse_trace(
      "# spot nodes of a Tuesday\n\n1700000000, a , join\n1700000000\tb join # both at once\n"
      "1700000010.5 a leave\n1700000020 a join\n",
      "spot.txt");
  BOOST_REQUIRE(trace.ok());
  BOOST_REQUIRE(trace->events.size() == 4u);
  BOOST_TEST(trace->nodes == 3u);
  BOOST_TEST(trace->events[0].at_s == 0);
  BOOST_TEST(trace->events[1].at_s == 0);
  BOOST_TEST(trace->events[2].at_s == 10.5);
  BOOST_TEST(trace->events[2].node == 0u);
  BOOST_TEST(!trace->events[2].joins);
  BOOST_TEST(trace->events[3].node == 2u);  // it has come back as another
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_line) {
  BOOST_TEST(refusal("0 a join\n5 a\n") ==
             "spot.txt:2: expected SECONDS NODE join|leave, found 2 words");
  BOOST_TEST(refusal("soon a join\n") == "spot.txt:1: expected a time in seconds, found \"soon\"");
  BOOST_TEST(refusal("inf a join\n") == "spot.txt:1: expected a time in seconds, found \"inf\"");
  BOOST_TEST(refusal("0 a joins\n") == "spot.txt:1: expected join or leave, found \"joins\"");
  BOOST_TEST(refusal("0 a join\n\n1 a join\n") ==
             "spot.txt:3: a joins, but has not left since it joined");
  BOOST_TEST(refusal("0 a leave\n") == "spot.txt:1: a leaves, but is not there");
  BOOST_TEST(refusal("5 a join\n4 b join\n") ==
             "spot.txt:2: it is earlier than the line before; sort the file by its first column");
}

BOOST_AUTO_TEST_CASE(a_drawn_trace_is_read_as_it_was_written) {
  const auto drawn = draw_trace(day_profile(), 3);
  const auto read = parse_trace(print_trace(drawn), "day");
  BOOST_REQUIRE(read.ok());
  BOOST_REQUIRE(read->events.size() == drawn.events.size());
  BOOST_TEST(read->nodes == drawn.nodes);
  for (size_t i = 0; i < drawn.events.size(); ++i) {
    BOOST_TEST(std::abs(read->events[i].at_s - drawn.events[i].at_s) <= 0.0006);
    BOOST_TEST(read->events[i].node == drawn.events[i].node);
    BOOST_TEST(read->events[i].joins == drawn.events[i].joins);
  }
  const auto profile = profile_of(*read, "day", 4, 32);
  BOOST_REQUIRE(profile.ok());
  BOOST_TEST(profile->peers == day_profile().peers);
  const auto expected = replay_churn(day_profile(), drawn, {});
  BOOST_TEST(replay_churn(*profile, *read, {}).all.share() == expected.all.share(),
             close::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(it_lasts_to_its_last_event_or_as_long_as_is_said) {
  const auto trace = parse_trace("0 a join\n7200 a leave\n", "t").value();
  BOOST_TEST(profile_of(trace, "t", 1, 0)->hours() == 2);
  BOOST_TEST(profile_of(trace, "t", 1, 3)->hours() == 3);
  BOOST_TEST(profile_of(trace, "t", 1, 1).error().detail ==
             "t: it goes on for 2.000 h; --hours may not be less");
  BOOST_TEST(!profile_of({}, "t", 1, 1).ok());
  BOOST_TEST(!profile_of(parse_trace("0 a join\n", "t").value(), "t", 1, 0).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::apps
