#include "apps/bench/figures/bench_figures.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "apps/bench/figures/bench_failover_figures.h"

namespace swarm::apps {
namespace {

template <class T>
records::Event event(double time_s, const std::string& node, const T& fields) {
  records::Event line = records::make_event(1, 4, fields);
  line.time_s = time_s;
  line.node = node;
  return line;
}

records::Rerouted rerouted(uint32_t slot, const std::string& peer, double waited_ms,
                           ErrorCode code) {
  return {slot, peer, records::Millis(waited_ms), {code, "why"}};
}

records::ReroutedServed served(uint32_t slot, const std::string& peer, double took_ms) {
  return {slot, peer, "x", records::Millis(took_ms)};
}

BOOST_AUTO_TEST_SUITE(bench_figures)

BOOST_AUTO_TEST_CASE(quantiles_are_values_that_were_measured) {
  BOOST_TEST(quantile({}, 0.5) == 0);
  BOOST_TEST(median({3, 1, 2}) == 2);
  BOOST_TEST(median({4, 1, 2, 3}) == 2.5);
  BOOST_TEST(quantile({5, 9, 7}, 0) == 5);
  BOOST_TEST(quantile({5, 9, 7}, 1) == 9);
}

BOOST_AUTO_TEST_CASE(averaging_is_compared_by_medians_and_the_first_round_does_not_count) {
  AveragingFigures figures;
  figures.elements = 1'000'000;
  figures.peers = 2;
  figures.first_s = 100;
  figures.ours_s = {0.02, 0.04, 0.9};
  BOOST_TEST(figures.gigabytes_per_s() == 0.1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(averaging_table({figures}).find("0.040") != std::string::npos);
  BOOST_TEST(!nlohmann::json::parse(averaging_json({figures}))["averaging"][0].contains("gloo"));
  figures.gloo_s = {0.02, 0.02, 0.3};
  figures.gloo_algorithm = "ring";
  const auto json = nlohmann::json::parse(averaging_json({figures}));
  BOOST_TEST(json["averaging"][0]["gloo"]["ratio"].get<double>() == 2.0,
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(json["averaging"][0]["rounds_s"].size() == 3u);
}

BOOST_AUTO_TEST_CASE(inputs_of_the_averaging_benchmark_differ_between_members_and_elements) {
  int same_member = 0, same_element = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    same_member += averaging_input(i, 0) == averaging_input(i, 1);
    same_element += averaging_input(i, 0) == averaging_input(i + 1, 0);
    BOOST_TEST_REQUIRE(std::abs(averaging_input(i, 3)) <= 512);
  }
  BOOST_TEST(same_member < 100);
  BOOST_TEST(same_element < 100);
}

BOOST_AUTO_TEST_CASE(a_plan_of_blows_strikes_and_returns_every_victim_before_the_next) {
  FailoverPlan plan;
  plan.kills = 5;
  plan.pauses = 4;
  const auto timeline = failover_timeline(plan, {"a", "b", "c"});
  BOOST_REQUIRE(timeline.size() == 18u);
  for (size_t i = 0; i < timeline.size(); i += 2) {
    const auto& blow = timeline[i];
    const auto& back = timeline[i + 1];
    BOOST_TEST(
        (blow.action == (i < 10 ? config::TimelineAction::kKill : config::TimelineAction::kPause)));
    BOOST_TEST((back.action ==
                (i < 10 ? config::TimelineAction::kStart : config::TimelineAction::kResume)));
    BOOST_TEST(back.node == blow.node);
    BOOST_TEST(blow.at_second < back.at_second);
    if (i + 2 < timeline.size()) BOOST_TEST(back.at_second + 2 < timeline[i + 2].at_second);
  }
  BOOST_TEST(timeline.back().at_second < plan.end_s());
  BOOST_TEST((failover_timeline(plan, {"a", "b", "c"})[6].at_second == timeline[6].at_second));
}

BOOST_AUTO_TEST_CASE(a_blow_is_measured_to_the_first_reply_for_a_microbatch_of_the_struck_peer) {
  const auto blows =
      find_blows({event(10.0, "s1", records::TimelineAct{0, "kill"}),
                  event(9.9, "t", rerouted(1, "s1", 9000, ErrorCode::kPeerTimeout)),
                  event(10.2, "t", served(9, "s0", 1)),  // of another peer
                  event(10.02, "t", rerouted(2, "s1", 5, ErrorCode::kLinkLost)),
                  event(10.5, "t", served(3, "s1", 400)),
                  event(10.3, "u", served(2, "s1", 280)),  // out of order
                  event(12.0, "s1", records::TimelineAct{1, "start"}),
                  event(11.0, "s1", records::Joined{}),  // before it was started: not this one
                  event(13.5, "s1", records::Joined{})},
                 {9.5, 10.8, 11.2});
  BOOST_REQUIRE(blows.size() == 1u);
  const auto tolerance = boost::test_tools::tolerance(1e-6);
  BOOST_TEST(blows[0].kill);
  BOOST_TEST(*blows[0].seen_s == 0.02, tolerance);
  BOOST_TEST(*blows[0].served_s == 0.3, tolerance);
  BOOST_TEST(*blows[0].step_s == 0.8, tolerance);
  BOOST_TEST(*blows[0].again_s == 1.5, tolerance);
  BOOST_TEST(!blows[0].deadline_s.has_value());
  BOOST_TEST(blows[0].rerouted == 1);
}

BOOST_AUTO_TEST_CASE(each_blow_has_its_own_events_and_a_pause_shows_the_deadline_in_force) {
  const auto blows = find_blows({event(10, "s1", records::TimelineAct{0, "kill"}),
                                 event(20, "s1", records::TimelineAct{1, "pause"}),
                                 event(21, "t", rerouted(2, "s1", 900, ErrorCode::kPeerTimeout)),
                                 event(21.5, "t", rerouted(3, "s1", 1400, ErrorCode::kPeerTimeout)),
                                 event(22, "t", served(2, "s1", 1000))},
                                {});
  BOOST_REQUIRE(blows.size() == 2u);
  BOOST_TEST(!blows[0].served_s.has_value());
  BOOST_TEST(!blows[0].step_s.has_value());
  BOOST_TEST(!blows[1].kill);
  BOOST_TEST(*blows[1].served_s == 2.0);
  BOOST_TEST(*blows[1].deadline_s == 1.4);
  BOOST_TEST(failover_table(blows).find("2.000 / 2.000 (1)") != std::string::npos);
  const auto json = nlohmann::json::parse(failover_json(blows));
  BOOST_TEST(!json["failover"].contains("kill"));
  BOOST_TEST(json["failover"]["pause"]["deadline"]["max_s"].get<double>() == 1.4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::apps
