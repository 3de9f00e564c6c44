#include <boost/test/unit_test.hpp>
#include <set>

#include "apps/bench/figures/churn_replay.h"
#include "apps/bench/figures/churn_table.h"
#include "apps/bench/figures/churn_trace.h"

namespace swarm::apps {
namespace {

namespace close = boost::test_tools;

/// 8 peers, 2 stages; without chance.
ChurnProfile quiet() { return {"quiet", 8, 2, {{2, 0, 0, 0, 0}}}; }

BOOST_AUTO_TEST_SUITE(churn)

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_trace_and_nobody_leaves_twice) {
  const auto one = draw_trace(day_profile(), 7), two = draw_trace(day_profile(), 7);
  BOOST_TEST(one.events.size() == two.events.size());
  BOOST_TEST(draw_trace(day_profile(), 8).events.size() != one.events.size());
  std::set<uint32_t> here, gone;
  double before_s = 0;
  for (const ChurnEvent& event : one.events) {
    BOOST_TEST(event.at_s >= before_s);
    before_s = event.at_s;
    if (event.joins)
      BOOST_TEST((here.insert(event.node).second && gone.count(event.node) == 0));
    else
      BOOST_TEST((here.erase(event.node) == 1 && gone.insert(event.node).second));
  }
  BOOST_TEST(one.nodes == here.size() + gone.size());
}

BOOST_AUTO_TEST_CASE(without_churn_everything_possible_is_done) {
  const auto result = replay_churn(quiet(), draw_trace(quiet(), 1), {});
  BOOST_TEST(result.all.share() == 1);
  BOOST_TEST(result.all.done == 4 * 7200, close::tolerance(1e-12));
  BOOST_TEST(result.mean_alive == 8, close::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_swarm_is_as_fast_as_its_smallest_stage) {
  auto trace = draw_trace(quiet(), 1);
  trace.events.push_back({3600, 0, false});  // leaves 3 and 4, of which 3 and 3 could be
  trace.events.push_back({5400, 2, false});  // 2 and 4: 3 could be
  const auto result = replay_churn(quiet(), trace, {});
  BOOST_TEST(result.first_hour.share() == 1);
  BOOST_TEST(result.last_hour.done == 1800 * (3 + 2), close::tolerance(1e-12));
  BOOST_TEST(result.last_hour.possible == 1800 * (3 + 3), close::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(who_comes_serves_once_it_has_the_state) {
  auto trace = draw_trace(quiet(), 1);
  for (uint32_t node = 0; node < 8; node += 2) trace.events.push_back({3600, node, false});
  for (uint32_t node = 8; node < 64; ++node) trace.events.push_back({3600, node, true});
  trace.nodes = 64;
  ReplayOptions options;
  options.costs = {/*model_bytes=*/2e9, /*link_bytes_per_s=*/1e7, /*warm_up_s=*/20};
  BOOST_TEST(replay_churn(quiet(), trace, options).empty_s == 120, close::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_newcomer_is_placed_where_somebody_is_missing) {
  auto trace = draw_trace(quiet(), 1);
  trace.events.push_back({3600, 0, false});
  trace.events.push_back({3605, 8, true});
  trace.nodes = 9;
  ReplayOptions options;
  options.costs = {/*model_bytes=*/2e9, /*link_bytes_per_s=*/1e7, /*warm_up_s=*/20};
  options.places = true;
  const auto result = replay_churn(quiet(), trace, options);  // seen at 3,610 s, there 120 s later
  BOOST_TEST(result.last_hour.done == 4 * 3600 - 130, close::tolerance(1e-9));
  BOOST_TEST(result.moves == 0u);
}

BOOST_AUTO_TEST_CASE(a_stage_that_lost_peers_gets_one_of_another) {
  auto trace = draw_trace(quiet(), 1);
  for (uint32_t node = 0; node < 4; node += 2) trace.events.push_back({3605, node, false});
  ReplayOptions options;
  options.costs = {/*model_bytes=*/2e9, /*link_bytes_per_s=*/1e7, /*warm_up_s=*/20};
  options.moves = true;
  options.period_s = 60;
  const auto result = replay_churn(quiet(), trace, options);  // at 3,660 s, there 120 s later
  BOOST_TEST(result.moves == 1u);
  BOOST_TEST(result.moved_bytes == 1e9);
  BOOST_TEST(result.last_hour.done == 4 * 5 + 2 * 175 + 3 * 3420, close::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(placing_and_moving_have_their_figures) {
  ChurnTableOptions options;
  options.seeds = 3;
  const auto share = [&](const ChurnProfile& profile, const ChurnArm& arm) {
    return run_churn(profile, arm, options).all;
  };
  const auto day = day_profile();
  BOOST_TEST(share(day, {false, true, 300}) == 0.9808, close::tolerance(0.002));
  BOOST_TEST(share(day, {false, true, 60}) == 0.9869, close::tolerance(0.002));
  BOOST_TEST(share(day, {true, true, 60}) == 0.9882, close::tolerance(0.002));
  const auto stress = run_churn(stress_profile(), {true, true, 60}, options);
  BOOST_TEST(stress.all == 0.9373, close::tolerance(0.002));
  BOOST_TEST(stress.empty_s == 0);
}

BOOST_AUTO_TEST_CASE(a_table_says_which_bars_were_met) {
  ChurnTableOptions options;
  options.seeds = 1;
  std::vector<std::string> lines;
  BOOST_TEST(day_table(options, [&](const auto& line) { lines.push_back(line); }) == 0);
  BOOST_REQUIRE(lines.size() == 7u);
  BOOST_TEST(lines[3].find("moved, T = 300 s") == 0u);
  BOOST_TEST(lines[3].find("ok: >= 95.8, last 88.9") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(doing_nothing_has_the_figures_for_which_the_trace_was_made) {
  double all = 0, first = 0, last = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto trace = draw_trace(day_profile(), seed);
    ReplayOptions options;
    options.seed = seed;
    const auto result = replay_churn(day_profile(), trace, options);
    all += result.all.share() / 10;
    first += result.first_hour.share() / 10;
    last += result.last_hour.share() / 10;
  }
  BOOST_TEST(all == 0.829, close::tolerance(0.001));
  BOOST_TEST(first == 0.994, close::tolerance(0.001));
  BOOST_TEST(last == 0.444, close::tolerance(0.001));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::apps
