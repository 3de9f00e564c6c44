/// What `swarm bench wiring --processes` starts, and what it makes of what nodes say.
#include <boost/test/unit_test.hpp>

#include "apps/bench/figures/flow_experiment.h"
#include "apps/bench/figures/flow_readings.h"
#include "apps/bench/figures/flow_table.h"
#include "config/experiment.h"

namespace swarm::apps {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-6);

config::Experiment loaded(const FlowScenario& scenario) {
  const auto result = config::parse_experiment(flow_experiment(scenario), "wiring.toml");
  BOOST_REQUIRE_MESSAGE(result.ok(), scenario.name << ": " << result.text());
  return *result.experiment;
}

/// 100 s in which every peer carries its part of what its stage can, `factor` times.
FlowResult carried(const FlowScenario& scenario, double factor) {
  FlowReadings before, after;
  const FlowResult could = [&] {
    each_peer(scenario, [&](size_t, const std::string& name, const FlowPeer&) {
      before.peers[name] = {10, 500};
      after.peers[name] = {110, 500};
    });
    return flow_result(scenario, before, after);
  }();
  for (const auto& stage : could.stages)
    for (const auto& peer : stage)
      after.peers[peer.name].forwards +=
          static_cast<uint64_t>(peer.fair * could.capacity * 100 * factor + 0.5);
  before.cpu = {1'000, 10'000};
  after.cpu = {2'000, 20'000};
  return flow_result(scenario, before, after);
}

BOOST_AUTO_TEST_SUITE(flow_figures)

BOOST_AUTO_TEST_CASE(every_scenario_is_a_valid_experiment) {
  for (const bool asynchronous : {true, false})
    for (const size_t peers : {2, 4})
      for (const ShareCase& one : share_cases(peers, asynchronous, 0.25)) {
        const auto with = loaded(one.with), without = loaded(one.without);
        size_t absent = 0;
        for (const auto& stage : one.without.stages)
          for (const auto& peer : stage) absent += peer.absent ? 1 : 0;
        BOOST_TEST(with.nodes.size() == 4 * peers + 2);
        BOOST_TEST(without.nodes.size() == with.nodes.size() - absent);
        BOOST_TEST((with.base.training.mode == actors::TrainingMode::kAsync) == asynchronous);
      }
  for (const double transfer : {0.12, 2.1}) loaded(utilisation(transfer, 0.2));
}

BOOST_AUTO_TEST_CASE(links_are_shaped_so_that_a_microbatch_takes_what_the_scenario_says) {
  const auto slow = share_cases(2, true, 0.25).front();  // one slow link
  const auto experiment = loaded(slow.with);
  const auto* peer = experiment.find("stage1-a");
  BOOST_REQUIRE(peer != nullptr);
  const auto& model = experiment.base.model;
  const double activations =
      4.0 * experiment.base.training.microbatch * model.sequence * model.width;
  BOOST_TEST(2 * activations / peer->shape.send_bytes_per_s == 1.0, kClose);  // four times 0.25 s
  BOOST_TEST(peer->delay_s == 0.25);
  BOOST_TEST(experiment.find("stage1-b")->shape.send_bytes_per_s == 0);
}

BOOST_AUTO_TEST_CASE(who_is_far_away_is_so_in_both_directions_and_twice_from_another) {
  const auto far = share_cases(2, true, 0.25).back();
  const auto experiment = loaded(far.with);
  BOOST_TEST(experiment.find("stage2-a")->shape.link_delay_s == 0.05);
  BOOST_TEST(experiment.find("stage2-b")->shape.link_delay_s == 0);
  BOOST_TEST(experiment.find("trainer-0")->shape.link_delay_s == 0);
  BOOST_REQUIRE(experiment.paths.size() == 4u);
  BOOST_TEST(experiment.paths[2].from == "stage2-a");
  BOOST_TEST(experiment.paths[2].to == "*");
  const auto around = loaded(utilisation(0.12, 0.2));
  for (const auto& node : around.nodes) BOOST_TEST(node.shape.link_delay_s == 0.1);
}

BOOST_AUTO_TEST_CASE(what_consoles_say_is_read) {
  const std::string text =
      "stage server 1234abcd/stage.0 of stage1-a\nstage 1 of 4, step 7\n"
      "resident 9 of 256, 42 bytes, queued forward 1 backward 0, computing yes\n"
      "forwards 812, refused 3, stale 0, seconds per microbatch 0.21\n"
      "peers of stage 2: 2, in flight 4\n"
      "  00aa11bb/stage.0 stage2-a seconds_per_sample=0.02 unfinished=16 deadline_s=3 last: "
      "compute_s=0.262 uplink_s=0.001 downlink_s=0 pair_s=0 slowest=compute\n"
      "  00aa11cc/stage.0 stage2-b (not used) seconds_per_sample=0.1 unfinished=0 deadline_s=30 "
      "last: compute_s=0 uplink_s=0 downlink_s=0 pair_s=0 slowest=\n";
  BOOST_TEST(read_forwards(text).value() == 812u);
  BOOST_TEST(!read_forwards("no such actor").has_value());
  FlowReadings readings;
  read_told(text, readings);
  BOOST_TEST(readings.compute_s.size() == 1u);  // who has told nothing is not known
  BOOST_TEST(readings.compute_s["stage2-a"].at(0) == 0.262);
}

BOOST_AUTO_TEST_CASE(what_gives_way_to_others_is_no_load_of_the_machine) {
  const auto cpu = read_cpu("cpu  100 4000 50 800 10 5 35 0 0 0");
  BOOST_REQUIRE(cpu.has_value());
  BOOST_TEST(cpu->busy == 190u);
  BOOST_TEST(cpu->all == 5'000u);
  BOOST_TEST(!read_cpu("cpu 1 2 3").has_value());
  BOOST_TEST(!read_cpu("").has_value());
}

BOOST_AUTO_TEST_CASE(the_loss_is_that_of_the_last_steps) {
  std::vector<records::StepMetrics> lines(4);
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].time_s = 100.0 + 10.0 * static_cast<double>(i);
    if (i < 3) lines[i].train_loss = 5.0 - static_cast<double>(i);
  }
  BOOST_TEST(mean_loss(lines, 105).value() == 3.5);
  BOOST_TEST(!mean_loss(lines, 125).has_value());
}

BOOST_AUTO_TEST_CASE(shares_are_parts_of_what_a_peer_can_carry) {
  const auto scenario = share_cases(2, true, 0.25).front().with;  // stage1-a: 4 and 1 a second
  const FlowResult result = carried(scenario, 0.8);
  BOOST_TEST(result.capacity == 5.0, kClose);
  BOOST_TEST(result.of_capacity() == 0.8, boost::test_tools::tolerance(0.01));
  BOOST_TEST(result.stages[1][0].fair == 0.2, kClose);
  BOOST_TEST(result.worst_share() < 0.02);
  BOOST_TEST(result.machine->cpu == 0.1, kClose);
}

BOOST_AUTO_TEST_CASE(a_peer_can_carry_what_its_slower_part_can) {
  FlowScenario scenario = utilisation(2.1, 0, 0.2);
  FlowReadings readings;
  each_peer(scenario, [&](size_t, const std::string& name, const FlowPeer&) {
    readings.peers[name] = {};
    readings.compute_s[name] = {0.25, 0.24, 0.9};  // what one sender was told is no matter
  });
  const auto in_the_middle = flow_result(scenario, readings, readings).stages[1][0];
  BOOST_TEST(in_the_middle.capacity == 1 / 0.42, kClose);
  // Half the bytes travel at the ends: computing is slower there.
  scenario.stages[3][1].up_s = scenario.stages[3][1].down_s = 0.22;
  BOOST_TEST(flow_result(scenario, readings, readings).stages[3][1].capacity == 4, kClose);
}

BOOST_AUTO_TEST_CASE(the_table_judges_and_does_not_judge_a_busy_machine) {
  FlowTableOptions options;
  options.only = "asynchronous 2 one slow link";
  options.costs.resize(1);
  double factor = 0.95, cpu = 0.3;
  options.measure = [&](const FlowScenario& scenario) -> Result<FlowResult> {
    if (factor == 0) return Error{ErrorCode::kInternal, "a node did not start"};
    FlowResult result = carried(scenario, factor);
    result.machine->cpu = cpu;
    result.machine->loss = 2.5;
    return result;
  };
  std::string text;
  const auto print = [&](const std::string& line) { text += line + "\n"; };
  const auto says = [&](const char* what) { return text.find(what) != std::string::npos; };
  BOOST_TEST(shares_table(options, print) == 0);
  BOOST_TEST((says("  met") && says("2.500")), text);
  text.clear();
  cpu = 0.8;
  BOOST_TEST(shares_table(options, print) == 1);
  BOOST_TEST(says("NOT JUDGED"), text);
  text.clear();
  cpu = 0.3;
  factor = 0.5;
  BOOST_TEST(shares_table(options, print) == 1);
  BOOST_TEST(says("NOT MET"), text);
  text.clear();
  factor = 0;
  BOOST_TEST(shares_table(options, print) == 1);
  BOOST_TEST(says("a node did not start"), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::apps
