/// How fast a swarm is said to be: what bounds it, and the utilisation that the paper measured.
#include "apps/plan/swarm_model.h"

#include <array>
#include <boost/test/unit_test.hpp>

namespace swarm::plan {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-6);

/// Equal peers whose links take no time.
SwarmModel even(size_t stages, uint32_t replicas, double compute_s) {
  SwarmModel swarm;
  swarm.in_flight = 1e9;
  for (size_t i = 0; i < stages; ++i) {
    Peers peers;
    peers.count = replicas;
    peers.compute_s = compute_s;
    swarm.stages.push_back({{peers}, 0});
  }
  return swarm;
}

template <class F>
void each(SwarmModel& swarm, F change) {
  for (StagePeers& stage : swarm.stages)
    for (Peers& peers : stage.peers) change(peers);
}

BOOST_AUTO_TEST_SUITE(planner_swarm_model)

/// Utilisation at 500 Mb/s and round trips of 0, 10, 50, 100 and 200 ms, as recalled from the paper.
/// Compute and transfer are not given there: both are taken from the first and the last cell of a row,
/// so that the three between are predicted.
BOOST_AUTO_TEST_CASE(without_overlap_the_papers_utilisation_is_met_within_a_point) {
  constexpr std::array<double, 5> kRtt_s = {0, 0.01, 0.05, 0.1, 0.2};
  constexpr std::array<std::array<double, 5>, 4> kTable = {{
      {18.0, 11.8, 4.88, 2.78, 1.53},  // base
      {32.1, 28.9, 20.1, 14.9, 10.1},  // xxlarge
      {82.1, 79.3, 70.3, 60.2, 48.5},  // GPT-3
      {89.5, 87.2, 79.5, 71.5, 59.2},  // the paper's own
  }};
  for (const auto& row : kTable) {
    const double compute_s = kRtt_s[4] / (100 / row[4] - 100 / row[0]);
    const double transfer_s = compute_s * (100 / row[0] - 1);
    for (size_t i = 0; i < row.size(); ++i) {
      SwarmModel swarm = even(3, 2, compute_s);
      swarm.overlap = false;
      each(swarm, [&](Peers& peers) {
        peers.up_s = peers.down_s = transfer_s / 2;
        peers.rtt_s = kRtt_s[i];
      });
      BOOST_TEST(
          std::abs(100 * flow(swarm).utilisation - row[i]) < 1.0,
          "round trip " << kRtt_s[i] << ": " << 100 * flow(swarm).utilisation << " for " << row[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(with_overlap_the_slowest_part_of_the_narrowest_stage_decides) {
  SwarmModel swarm = even(4, 2, 0.1);
  BOOST_TEST(flow(swarm).step_s == 64 * 0.1 / 2, kClose);
  BOOST_TEST(flow(swarm).utilisation == 1.0, kClose);
  BOOST_TEST(to_string(flow(swarm).bound) == "compute");
  swarm.stages[1].peers[0].up_s = 0.4;
  BOOST_TEST(flow(swarm).step_s == 64 * 0.4 / 2, kClose);
  BOOST_TEST(flow(swarm).utilisation == 0.25, kClose);
  BOOST_TEST(to_string(flow(swarm).bound) == "uplink");
  swarm.stages[1].peers[0].down_s = 0.5;
  BOOST_TEST(to_string(flow(swarm).bound) == "downlink");
}

BOOST_AUTO_TEST_CASE(a_stage_carries_what_its_peers_carry_together) {
  SwarmModel swarm = even(2, 1, 0.1);
  for (StagePeers& stage : swarm.stages) {
    stage.peers.push_back(stage.peers[0]);
    stage.peers[1].compute_s = 0.3;
  }
  BOOST_TEST(flow(swarm).step_s == 64 / (1 / 0.1 + 1 / 0.3), kClose);
}

BOOST_AUTO_TEST_CASE(few_microbatches_under_way_are_bound_by_the_way) {
  SwarmModel swarm = even(4, 2, 0.1);
  each(swarm, [](Peers& peers) { peers.rtt_s = 0.4; });
  swarm.in_flight = 1;
  const Flow one = flow(swarm);
  BOOST_TEST(one.latency_s == 2.0, kClose);
  BOOST_TEST(one.step_s == 64 * 2.0, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(to_string(one.bound) == "latency");
  swarm.in_flight = 400;
  BOOST_TEST(flow(swarm).step_s == 64 * 0.1 / 2, boost::test_tools::tolerance(1e-2));
}

BOOST_AUTO_TEST_CASE(trainers_left_alone_lose_little_if_memory_allows) {
  SwarmModel swarm = even(4, 2, 0.1);
  swarm.in_flight = 0;
  BOOST_TEST(flow(swarm).in_flight == 10.0 / 3 * 0.4 * 20, kClose);
  BOOST_TEST(flow(swarm).step_s < 1.03 * 64 * 0.1 / 2);
  each(swarm, [](Peers& peers) { peers.most_resident = 2; });
  BOOST_TEST(most_in_flight(swarm) == 4, kClose);
  BOOST_TEST(flow(swarm).in_flight == 4, kClose);
  BOOST_TEST(flow(swarm).step_s > 1.9 * 64 * 0.1 / 2);
}

BOOST_AUTO_TEST_CASE(synchronous_steps_fill_and_drain_and_take_whole_microbatches) {
  SwarmModel swarm = even(4, 2, 0.1);
  swarm.mode = Mode::kSync;
  swarm.microbatches = 5;
  const Flow steps = flow(swarm);
  BOOST_TEST(steps.work_s == 0.3, boost::test_tools::tolerance(1e-4));  // three at one of two peers
  BOOST_TEST(steps.fill_s == 0.3, kClose);
  swarm.microbatches = 1;
  BOOST_TEST(flow(swarm).step_s == 0.4, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(to_string(flow(swarm).bound) == "fill");
}

BOOST_AUTO_TEST_CASE(averaging_is_waited_for_or_hidden_as_the_mode_says) {
  SwarmModel swarm = even(2, 2, 0.1);
  for (StagePeers& stage : swarm.stages) stage.averaged_bytes = 1e6;
  each(swarm, [](Peers& peers) { peers.up_bytes_per_s = peers.down_bytes_per_s = 1e6; });
  swarm.mode = Mode::kAsync;
  BOOST_TEST(flow(swarm).averaging_s == 1.0, kClose);  // 2 (n - 1) / n x bytes / rate
  BOOST_TEST(flow(swarm).step_s == 3.2 + 1.0, kClose);
  swarm.mode = Mode::kBackground;
  BOOST_TEST(flow(swarm).step_s == 3.2, kClose);
  for (StagePeers& stage : swarm.stages) stage.averaged_bytes = 10e6;
  BOOST_TEST(flow(swarm).step_s > 9.99);
  BOOST_TEST(to_string(flow(swarm).bound) == "averaging");
}

BOOST_AUTO_TEST_CASE(one_slow_link_holds_a_round_for_its_own_vector_only) {
  SwarmModel swarm = even(1, 3, 0.1);
  swarm.mode = Mode::kAsync;
  swarm.stages[0].averaged_bytes = 1e6;
  each(swarm, [](Peers& peers) { peers.up_bytes_per_s = peers.down_bytes_per_s = 1e6; });
  swarm.stages[0].peers.push_back(swarm.stages[0].peers[0]);
  swarm.stages[0].peers[1].count = 1;
  swarm.stages[0].peers[1].up_bytes_per_s = 1e5;
  BOOST_TEST(flow(swarm).averaging_s == 10.0, kClose);
}

BOOST_AUTO_TEST_CASE(preemptions_take_the_time_that_a_peer_is_away) {
  SwarmModel swarm = even(2, 2, 0.1);
  each(swarm, [](Peers& peers) {
    peers.preemptions_per_s = 1.0 / 3600;
    peers.away_s = 359.8;
  });
  BOOST_TEST(flow(swarm).lost == 1 - 1 / 1.1, kClose);  // and the 0.2 s that were under way
  BOOST_TEST(flow(swarm).step_s == 1.1 * 3.2, kClose);
}

BOOST_AUTO_TEST_CASE(more_bandwidth_and_shorter_ways_are_never_slower) {
  for (const Mode mode : {Mode::kSync, Mode::kDelayed, Mode::kAsync, Mode::kBackground})
    for (const double in_flight : {0.0, 8.0, 64.0})
      for (const double room : {3.0, 1e9}) {
        double before_s = 1e30;
        for (double rate = 1e5; rate < 1e9; rate *= 1.3) {
          SwarmModel swarm = even(4, 3, 0.1);
          swarm.mode = mode;
          swarm.in_flight = in_flight;
          for (StagePeers& stage : swarm.stages) stage.averaged_bytes = 3e5;
          each(swarm, [&](Peers& peers) {
            peers.up_s = 1e5 / rate;
            peers.down_s = 2e5 / rate;
            peers.rtt_s = 1e4 / rate;
            peers.up_bytes_per_s = peers.down_bytes_per_s = rate;
            peers.most_resident = room;
            peers.preemptions_per_s = 1e-4;
            peers.away_s = 1e7 / rate;
          });
          const double now_s = flow(swarm).step_s;
          BOOST_TEST(now_s <= before_s * (1 + 1e-9));
          before_s = now_s;
        }
      }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::plan
