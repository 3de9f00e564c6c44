// The whole synchronous path with the real actors: exact parameters whatever dies (I1, I2, I6, I7).
#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>

#include "actors/net/local.h"
#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using swarm::testing::SimSwarm;

namespace {

struct Swarm : SimSwarm {
  explicit Swarm(uint64_t steps = 6) {
    training.steps = steps;
    for (int stage = 0; stage < 3; ++stage)
      for (const char* replica : {"a", "b"})
        add_peer("stage" + std::to_string(stage) + replica, stage);
    add_trainer("trainer-a");
    add_trainer("trainer-b");
  }
  void check_end(int replicas) {
    BOOST_TEST(check_parameters() == "");
    BOOST_TEST(checked == replicas);
    BOOST_TEST(events->count("replicas_differ") == 0u);
  }
  /// The node whose coordinator says that it is active; "" if none does.
  std::string coordinator_node() {
    for (auto& [name, node] : nodes) {
      if (node.stage >= 0 || !node.alive) continue;
      std::string text;
      caf::scoped_actor self(*system);
      auto handle =
          self->request(node.actors[2], caf::infinite, swarm::actors::describe_atom::value);
      system.run();
      handle.receive([&](const std::string& t) { text = t; }, [](const caf::error&) {});
      if (text.find("standby") == std::string::npos) return name;
    }
    return "";
  }
};

void print_events(const SimSwarm& swarm) {
  for (const auto& e : swarm.events->events) BOOST_TEST_MESSAGE(what(e));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SwarmOfRealActors)

struct LongSwarm : Swarm {
  LongSwarm() : Swarm(12) {}
};

struct LoneSwarm : SimSwarm {
  LoneSwarm() {
    training.steps = 12;
    for (int stage = 0; stage < 3; ++stage) add_peer("stage" + std::to_string(stage) + "a", stage);
    add_trainer("trainer-a");
  }
};

BOOST_FIXTURE_TEST_CASE(a_stage_whose_actors_failed_comes_back_under_its_node, LongSwarm) {
  BOOST_TEST(run_to_step(3));
  restart_role("stage1a");
  BOOST_TEST(run_to_end());
  check_end(6);
}

BOOST_FIXTURE_TEST_CASE(what_a_failed_trainer_had_leased_is_free_at_once, LongSwarm) {
  BOOST_TEST(run_to_step(3));
  for (int i = 0; i < 3; ++i) {
    restart_role("trainer-a");
    system.advance(20ms);
    restart_role("trainer-b");
    system.advance(20ms);
  }
  BOOST_TEST(run_to_end(60s));  // a lease lasts 120 s
  BOOST_TEST(events->count("lease_expired") == 0u);
  check_end(6);
}

/// Its answer never comes, and its node lives: the end waited 60 s for it.
BOOST_FIXTURE_TEST_CASE(a_peer_that_fails_during_the_last_snapshot_is_not_waited_for, Swarm) {
  swarm::sim::DiskTrouble slow;
  slow.slower = 2s;
  BOOST_TEST(run_to_step(5));
  disks.at("stage1a")->set_trouble(slow);
  system.advance(50ms);
  BOOST_TEST(!finished());
  restart_role("stage1a");
  disks.at("stage1a")->set_trouble({});
  BOOST_TEST(run_to_end(20s));
  check_end(6);
}

BOOST_FIXTURE_TEST_CASE(a_stage_that_failed_alone_goes_on_from_its_snapshot, LoneSwarm) {
  BOOST_TEST(run_to_step(5));
  restart_role("stage1a");
  BOOST_TEST(run_to_end());
  BOOST_TEST(events->count("recovered") == 1u);
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 3);
}

BOOST_FIXTURE_TEST_CASE(an_undisturbed_run_counts_every_sample_once, Swarm) {
  bool ended = run_to_end();
  print_events(*this);
  BOOST_TEST(ended);
  check_end(6);
  BOOST_TEST(events->steps.size() == 7u);  // six steps and the final validation
  BOOST_TEST(events->steps.back().validation_loss.has_value());
  BOOST_TEST(events->count("sum_dropped") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_killed_replica_costs_no_sample, Swarm) {
  BOOST_TEST(run_to_step(1));
  kill("stage1a");
  bool ended = run_to_end();
  print_events(*this);
  BOOST_TEST(ended);
  check_end(5);
}

BOOST_FIXTURE_TEST_CASE(a_restarted_replica_catches_up_and_serves, Swarm) {
  BOOST_TEST(run_to_step(0));
  kill("stage1a");
  BOOST_TEST(run_to_step(1));
  start("stage1a");
  bool ended = run_to_end();
  print_events(*this);
  BOOST_TEST(ended);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(a_killed_trainer_gives_its_slots_back, Swarm) {
  BOOST_TEST(run_to_step(1));
  std::string leader = coordinator_node();
  kill(leader == "trainer-a" ? "trainer-b" : "trainer-a");
  bool ended = run_to_end();
  BOOST_TEST(ended);
  check_end(6);
}

BOOST_FIXTURE_TEST_CASE(a_killed_coordinator_is_replaced, Swarm) {
  BOOST_TEST(run_to_step(1));
  std::string leader = coordinator_node();
  BOOST_REQUIRE(leader != "");
  kill(leader);
  bool ended = run_to_end();
  print_events(*this);
  BOOST_TEST(ended);
  check_end(6);
  BOOST_TEST(events->count("coordinator") == 2u);
  BOOST_TEST(events->count("recovered") == 0u);  // the open step was rebuilt, not given up
}

// Those that stay are no more than half of the list that they leave.
BOOST_FIXTURE_TEST_CASE(half_of_the_swarm_may_leave_in_order_at_once, LongSwarm) {
  BOOST_TEST(run_to_step(2));
  const std::vector<std::string> leavers{"stage0b", "stage1b", "stage2b", "trainer-b"};
  size_t left = 0;
  for (const auto& name : leavers) drain(name, [&left] { ++left; });
  BOOST_TEST(system.advance_until([&] { return left == leavers.size(); }, 10s, 10ms));
  for (const auto& name : leavers) kill(name);
  BOOST_TEST(run_to_end());
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 3);
  BOOST_TEST(events->count("minority") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_stage_without_peers_goes_back_to_a_common_snapshot, Swarm) {
  BOOST_TEST(run_to_step(3));
  kill("stage1a");
  kill("stage1b");
  system.advance(1s);
  start("stage1a");
  bool ended = run_to_end();
  print_events(*this);
  BOOST_TEST(ended);
  BOOST_TEST(events->count("recovered") == 1u);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(a_killed_swarm_resumes_from_the_newest_common_snapshot, Swarm) {
  BOOST_TEST(run_to_step(4));
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes) names.push_back(name);
  for (const auto& name : names) kill(name);
  system.advance(5s);
  for (const auto& name : names) start(name);
  bool ended = run_to_end();
  print_events(*this);
  BOOST_TEST(ended);
  BOOST_TEST(events->count("recovered") == 1u);
  BOOST_TEST(events->count("initialized") == 6u);  // only at the very start
  check_end(6);
}

BOOST_FIXTURE_TEST_CASE(a_new_coordinator_finishes_the_commit_of_the_old_one, Swarm) {
  BOOST_TEST(run_to_step(1));
  // The commit of step 3 reaches two stages of three, then its sender dies.
  net.set_filter(
      [this](const swarm::NodeId&, const swarm::ActorId& to, const swarm::actors::Mail& mail) {
        bool cut = mail.kind == swarm::proto::KIND_COMMIT_STEP &&
                   mail.as<swarm::proto::CommitStep>().step() == 3 &&
                   (to.node == nodes["stage2a"].id || to.node == nodes["stage2b"].id);
        return cut ? swarm::sim::Fate::kDrop : swarm::sim::Fate::kDeliver;
      });
  BOOST_TEST(system.advance_until([this] { return nodes["stage0a"].arithmetic->step() == 4; }, 60s,
                                  100us));
  BOOST_TEST(nodes["stage2a"].arithmetic->step() == 3u);
  kill(coordinator_node());
  net.set_filter({});
  bool ended = run_to_end();
  print_events(*this);
  BOOST_TEST(ended);
  check_end(6);
  BOOST_TEST(events->count("recovered") == 0u);  // nothing was computed twice
}

BOOST_FIXTURE_TEST_CASE(a_frozen_replica_is_gone_round_and_serves_again_when_it_thaws, Swarm) {
  BOOST_TEST(run_to_step(1));
  net.silence(nodes["stage1a"].id);
  BOOST_TEST(run_to_step(3, 300s));
  BOOST_TEST(!finished());
  net.silence(nodes["stage1a"].id, false);
  bool ended = run_to_end(300s);
  print_events(*this);
  BOOST_TEST(ended);
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(events->count("replicas_differ") == 0u);
}

struct SwarmOfSlowLinks : SimSwarm {
  SwarmOfSlowLinks() {
    be_patient();
    for (int stage = 0; stage < 3; ++stage)
      for (const char* replica : {"a", "b"})
        add_peer("stage" + std::to_string(stage) + replica, stage);
    add_trainer("trainer-a");
  }
};

BOOST_FIXTURE_TEST_CASE(a_round_may_take_longer_than_one_request, SwarmOfSlowLinks) {
  BOOST_TEST(run_to_step(1));
  cut_both_ways("stage1a", "stage1b");
  system.advance(300s);
  BOOST_TEST(events->count("member_asked_again") == 4u);  // both, after 120 s and 240 s
  net.heal_all();
  BOOST_TEST(run_to_end());
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 6);
  for (const char* trouble : {"round_failed", "round_abandoned", "sum_dropped", "recovered"})
    BOOST_TEST(events->count(trouble) == 0u, trouble);
}

BOOST_FIXTURE_TEST_CASE(every_role_killed_in_turn_costs_no_sample, Swarm) {
  training.steps = 12;
  for (auto& [name, node] : nodes) kill(name);
  disks.clear();
  events->steps.clear();
  for (auto& [name, node] : nodes) start(name);
  uint64_t step = 0;
  for (const char* name : {"stage0a", "trainer-a", "stage2b", "trainer-b", "stage1b"}) {
    BOOST_TEST(run_to_step(step += 2));
    kill(name);
    system.advance(700us);
    start(name);
  }
  bool ended = run_to_end(300s);
  print_events(*this);
  BOOST_TEST(ended);
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(events->count("replicas_differ") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_dropped_gradient_would_be_seen, Swarm) {
  for (auto& [name, node] : nodes) kill(name);
  faults.drop_gradient = "2:3";
  disks.clear();
  for (auto& [name, node] : nodes) start(name);
  BOOST_TEST(run_to_end());
  BOOST_TEST(check_parameters() != "");
}

BOOST_FIXTURE_TEST_CASE(without_trainers_the_peers_wait_and_go_on_when_one_joins, Swarm) {
  BOOST_TEST(run_to_step(1));
  kill("trainer-a");
  kill("trainer-b");
  system.advance(60s);  // longer than their records live in the DHT
  uint64_t steps = events->steps.size();
  system.advance(10s);
  BOOST_TEST(events->steps.size() == steps);
  add_trainer("trainer-c");
  BOOST_TEST(run_to_end(300s));
  check_end(6);
  BOOST_TEST(events->count("recovered") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_slot_that_is_finite_nowhere_is_skipped_by_every_stage, Swarm) {
  for (auto& [name, node] : nodes) kill(name);
  faults.non_finite = "2:3:1";
  disks.clear();
  for (auto& [name, node] : nodes) start(name);
  BOOST_TEST(run_to_end());
  BOOST_TEST(events->count("non_finite") == 2u);
  BOOST_TEST(events->count("slot_skipped") == 1u);
  BOOST_TEST(events->count("replicas_differ") == 0u);
  std::vector<uint32_t> skipped;
  for (const auto& step : events->closed_steps) {
    if (step.step != 2) continue;
    skipped = step.skipped;
    BOOST_TEST(step.samples == training.batch - training.microbatch);
  }
  BOOST_TEST(skipped == std::vector<uint32_t>{3}, boost::test_tools::per_element());
  // Step 2 without the two samples of slot 3; the other steps are whole.
  for (const char* name : {"stage0a", "stage0b"})
    BOOST_TEST(
        closed_so_far().has(swarm::Stage(0), training.steps, nodes[name].arithmetic->parameters()));
}

BOOST_AUTO_TEST_SUITE_END()
