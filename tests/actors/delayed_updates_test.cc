// Delayed parameter updates with the real actors: a step is averaged while the next one is computed
// on the parameters before its update, and every sample still counts once.
#include <boost/test/unit_test.hpp>

#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using swarm::testing::SimSwarm;

namespace {

struct DelayedSwarm : SimSwarm {
  explicit DelayedSwarm(uint64_t steps = 8) {
    training.delayed_updates = true;
    training.steps = steps;
    for (int stage = 0; stage < 3; ++stage)
      for (const char* replica : {"a", "b"})
        add_peer("stage" + std::to_string(stage) + replica, stage);
    add_trainer("trainer-a");
    add_trainer("trainer-b");
  }
  /// Of each step, as it was closed last: the updates in the parameters it was computed on.
  std::map<uint64_t, uint64_t> computed_on() const {
    std::map<uint64_t, uint64_t> result;
    for (const auto& step : events->closed_steps) result[step.step] = step.computed_on;
    return result;
  }
  void check_end() {
    BOOST_TEST(check_parameters() == "");
    BOOST_TEST(checked > 0);
    BOOST_TEST(events->count("replicas_differ") == 0u);
    for (const auto& [step, on] : computed_on()) BOOST_TEST((on == step || on + 1 == step));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(DelayedUpdates)

BOOST_FIXTURE_TEST_CASE(every_step_but_the_first_runs_one_update_behind, DelayedSwarm) {
  BOOST_TEST(run_to_end());
  check_end();
  BOOST_TEST(events->count("recovered") == 0u);
  for (const auto& [step, on] : computed_on()) BOOST_TEST(on == (step == 0 ? 0 : step - 1));
  BOOST_TEST(computed_on().size() == 8u);
}

BOOST_FIXTURE_TEST_CASE(microbatches_of_the_next_step_are_served_while_a_round_is_under_way,
                        DelayedSwarm) {
  BOOST_TEST(run_to_step(1));
  // The parts of a round travel slowly: the next step fills meanwhile.
  uint64_t during = 0;
  net.set_filter([&](const swarm::NodeId&, const swarm::ActorId&, const swarm::actors::Mail& mail) {
    if (mail.kind == swarm::proto::KIND_AVERAGE_PART) return swarm::sim::Fate::kDrop;
    if (mail.kind == swarm::proto::KIND_SLOT_DONE)
      during = std::max(during, mail.as<swarm::proto::SlotDone>().step());
    return swarm::sim::Fate::kDeliver;
  });
  uint64_t last = events->closed_steps.back().step;
  system.advance(300ms);
  BOOST_TEST(during >= last + 2);
  net.set_filter({});
  BOOST_TEST(run_to_end(300s));
  check_end();
}

struct LongDelayedSwarm : DelayedSwarm {
  LongDelayedSwarm() : DelayedSwarm(1'000) {}
};

BOOST_FIXTURE_TEST_CASE(a_step_is_measured_from_its_opening_to_its_closing, LongDelayedSwarm) {
  BOOST_TEST(run_to_step(1));
  const auto before = system.now();
  const size_t first = events->steps.size();
  BOOST_TEST(run_to_step(200));
  double sum = 0;
  for (size_t i = first; i < events->steps.size(); ++i) sum += events->steps[i].seconds;
  const double passed = std::chrono::duration<double>(system.now() - before).count();
  BOOST_TEST(sum > 0.9 * passed);
  BOOST_TEST(sum < 1.1 * passed);  // not the averaging of the update, too
}

BOOST_FIXTURE_TEST_CASE(a_newcomer_comes_in_when_the_pipeline_has_run_dry, LongDelayedSwarm) {
  BOOST_TEST(run_to_step(1));
  add_peer("stage1c", 1);
  BOOST_TEST(run_to_end(600s));
  check_end();
  BOOST_TEST(events->count("recovered") == 0u);
  BOOST_REQUIRE(nodes["stage1c"].arithmetic != nullptr);
  BOOST_TEST(nodes["stage1c"].arithmetic->step() == training.steps);
}

BOOST_FIXTURE_TEST_CASE(kills_of_every_role_cost_no_sample, DelayedSwarm) {
  uint64_t step = 0;
  for (const char* name : {"stage0a", "trainer-a", "stage2b", "trainer-b"}) {
    BOOST_TEST(run_to_step(step++));
    kill(name);
    system.advance(700us);
    start(name);
  }
  BOOST_TEST(run_to_end(300s));
  check_end();
}

BOOST_AUTO_TEST_SUITE_END()
