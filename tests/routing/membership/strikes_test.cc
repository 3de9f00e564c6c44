#include "routing/membership/strikes.h"

#include <boost/test/unit_test.hpp>

#include "common/mix.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

namespace {

using Kind = Strikes::Kind;

/// Strikes and, when it is due, rests.
std::optional<Time> strike(Strikes& strikes, Kind kind, Time now, const std::string& node = "a") {
  if (!strikes.strike(node, kind, now)) return std::nullopt;
  return strikes.rest(node, now);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StrikesTest)

BOOST_AUTO_TEST_CASE(a_second_wrong_number_makes_a_node_rest_and_each_one_after_for_longer) {
  Strikes strikes;
  BOOST_TEST(!strike(strikes, Kind::kWrong, 10s).has_value());
  BOOST_TEST(!strikes.rests("a", 10s).has_value());
  BOOST_TEST((strike(strikes, Kind::kWrong, 20s) == Time(1min)));
  BOOST_TEST((strikes.rests("a", 50s) == Time(30s)));
  BOOST_TEST(!strikes.rests("b", 50s).has_value());
  BOOST_TEST(!strikes.rests("a", 80s).has_value());
  BOOST_TEST((strike(strikes, Kind::kWrong, 90s) == Time(5min)));
  BOOST_TEST((strike(strikes, Kind::kWrong, 500s) == Time(30min)));
  BOOST_TEST((strike(strikes, Kind::kWrong, 4000s) == Time(30min)));
}

BOOST_AUTO_TEST_CASE(a_strike_long_ago_is_forgotten) {
  Strikes strikes;
  BOOST_TEST(!strike(strikes, Kind::kWrong, 10s).has_value());
  BOOST_TEST(!strike(strikes, Kind::kWrong, 10s + Strikes::kMemory + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(good_service_takes_one_rest_back_after_the_other) {
  Strikes strikes;
  strike(strikes, Kind::kHung, 1s);
  BOOST_TEST((strike(strikes, Kind::kHung, 2s) == Time(1min)));
  BOOST_TEST((strike(strikes, Kind::kHung, 100s) == Time(5min)));
  const Time later = 100s + 5min + Strikes::kGoodService;
  BOOST_TEST((strike(strikes, Kind::kHung, later) == Time(5min)));  // one is left
  const Time clean = later + 5min + 2 * Strikes::kGoodService;
  BOOST_TEST(!strike(strikes, Kind::kHung, clean).has_value());
}

// A node with two stages had two strikes for each loss, and excused only one of them.
BOOST_AUTO_TEST_CASE(a_node_that_serves_several_stages_is_lost_once) {
  Strikes strikes;
  for (int i = 0; i < 19; ++i)
    for (const Time moment : {Time(10s * i), Time(10s * i + 1ms)})
      BOOST_TEST(!strike(strikes, Kind::kLost, moment).has_value());
  Strikes together;
  for (int i = 0; i < 60; ++i)
    for (const char* node : {"a", "a", "b", "b"})
      BOOST_TEST(!strike(together, Kind::kLost, 9s * i, node).has_value());
}

BOOST_AUTO_TEST_CASE(several_kinds_weigh_together) {
  Strikes strikes;
  BOOST_TEST(!strike(strikes, Kind::kSilent, 1s).has_value());
  BOOST_TEST(!strike(strikes, Kind::kSilent, 2s).has_value());
  BOOST_TEST(strike(strikes, Kind::kHung, 3s).has_value());
}

BOOST_AUTO_TEST_CASE(a_link_that_flaps_every_ten_seconds_makes_its_node_rest) {
  Strikes strikes;
  int losses = 0;
  while (!strike(strikes, Kind::kLost, ++losses * 10s).has_value()) BOOST_REQUIRE(losses < 100);
  BOOST_TEST(losses == Strikes::limit(Kind::kLost));
}

// As config/chaos.toml does it: 15 nodes, a kill at a random moment of each 5 s.
BOOST_AUTO_TEST_CASE(ordinary_preemption_makes_nobody_rest) {
  Strikes strikes;
  uint64_t random = 7;
  for (int kill = 0; kill < 5 * 3'600 / 5; ++kill) {
    random = mix(random + kSplitMixStep);
    const Time now = 5s * kill + 5s * (random % 100) / 100;
    const std::string node(1, static_cast<char>('a' + random / 100 % 15));
    BOOST_TEST(!strike(strikes, Kind::kLost, now, node).has_value());
  }
}

BOOST_AUTO_TEST_CASE(who_is_killed_every_minute_does_not_rest) {
  Strikes strikes;
  for (int kill = 0; kill < 600; ++kill)
    BOOST_TEST(!strike(strikes, Kind::kLost, kill * 1min).has_value());
}

BOOST_AUTO_TEST_CASE(losses_of_several_nodes_at_a_time_are_the_fault_of_none) {
  Strikes strikes;
  for (int cut = 0; cut < 40; ++cut)
    for (const char* node : {"a", "b", "c"})
      BOOST_TEST(!strike(strikes, Kind::kLost, cut * 10s, node).has_value());
}

BOOST_AUTO_TEST_CASE(who_is_called_back_rests_no_more_and_is_not_told_to_be_over) {
  Strikes strikes;
  strike(strikes, Kind::kHung, 1s);
  strike(strikes, Kind::kHung, 2s);
  strikes.call_back("a");
  BOOST_TEST(!strikes.rests("a", 3s).has_value());
  BOOST_TEST(strikes.rested(2min).empty());
}

BOOST_AUTO_TEST_CASE(the_end_of_a_rest_is_told_once) {
  Strikes strikes;
  strike(strikes, Kind::kHung, 0s);
  strike(strikes, Kind::kHung, 0s);
  BOOST_TEST(strikes.rested(59s).empty());
  BOOST_TEST((strikes.rested(60s) == std::vector<std::string>{"a"}));
  BOOST_TEST(strikes.rested(61s).empty());
}

BOOST_AUTO_TEST_CASE(names_without_end_are_forgotten) {
  Strikes strikes;
  for (int n = 0; n < 5'000; ++n) strike(strikes, Kind::kWrong, 1s * n, std::to_string(n));
  BOOST_TEST(strikes.remembered() <= 601u);  // of ten minutes
  for (int n = 0; n < 5'000; ++n) strike(strikes, Kind::kWrong, 5'000s, std::to_string(-n));
  BOOST_TEST(strikes.remembered() <= Strikes::kMost);
}

BOOST_AUTO_TEST_SUITE_END()
