// Nodes that are told to end (docs/elastic.md, "Leaving with grace"): what they have under way is finished
// while others train on.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

struct Leaving : testing::SimSwarm {
  Leaving() {
    num_stages = 2;
    training.steps = 60;
    checkpoint.every_steps = 20;
  }
  /// Three peers a stage, whose jobs take so long, and two trainers.
  void begin(std::chrono::milliseconds job = 10ms) {
    for (const char* name : {"trainer-a", "trainer-b"}) add_trainer(name);
    for (int stage : {0, 1})
      for (const char* replica : {"a", "b", "c"}) {
        const std::string name = "s" + std::to_string(stage) + replica;
        Swarm::add_peer(name, stage, {job, 0ms});
        start(name);
      }
    BOOST_REQUIRE(run_to_step(2));
  }
  std::string text(const std::string& name) { return describe(nodes[name].stage_server); }
  bool holds_none(const std::string& name) {
    return text(name).find("slots held 0,") != std::string::npos;
  }
  /// It has something to lose.
  void wait_until_it_holds_a_slot(const std::string& name) {
    BOOST_REQUIRE(system.advance_until([&] { return !holds_none(name); }, 30s, 1ms));
  }
  /// Told to end, and ended when it says so. Seconds that it took.
  double leave(const std::string& name) {
    const auto began = system->clock().now();
    bool left = false;
    drain(name, [&] { left = true; });
    BOOST_REQUIRE(system.advance_until([&] { return left; }, 60s, 1ms));
    kill(name);
    return std::chrono::duration<double>(system->clock().now() - began).count();
  }
  /// Of those that have left, in order.
  std::vector<records::StageLeft> ends() const {
    std::vector<records::StageLeft> all;
    for (const auto& event : events->events)
      if (const auto one = event.as<records::StageLeft>()) all.push_back(*one);
    return all;
  }
  void check_end(int replicas) {
    BOOST_REQUIRE(run_to_end(600s));
    system.advance(5s);
    BOOST_TEST(check_parameters() == "");
    BOOST_TEST(checked == replicas);
    BOOST_TEST(events->count("replicas_differ") == 0u);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(LeavingTest, Leaving)

// Each took its sum with it, and its slots were computed again.
BOOST_AUTO_TEST_CASE(all_of_a_stage_but_one_leave_and_no_slot_is_computed_twice) {
  begin();
  for (const char* name : {"s0a", "s0b", "s1c", "s1a"}) {
    wait_until_it_holds_a_slot(name);
    BOOST_TEST(leave(name) < 5);
  }
  BOOST_REQUIRE(ends().size() == 4u);
  for (const auto& end : ends()) {
    BOOST_TEST(end.slots.value() == 0u);
    BOOST_TEST(end.finished, end.reason);
  }
  BOOST_TEST(events->count("recompute") == 0u);
  BOOST_TEST(events->count("sum_dropped") == 0u);
  BOOST_TEST(events->count("lost") == 0u);  // nothing is
  check_end(2);
}

BOOST_AUTO_TEST_CASE(with_delayed_updates_too) {
  training.delayed_updates = true;
  begin();
  for (const char* name : {"s0a", "s1b"}) {
    wait_until_it_holds_a_slot(name);
    BOOST_TEST(leave(name) < 5);
  }
  BOOST_TEST(events->count("recompute") == 0u);
  BOOST_TEST(events->count("recovered") == 0u);
  check_end(4);
}

BOOST_AUTO_TEST_CASE(asynchronously_its_updates_are_averaged_before_it_goes) {
  training.mode = actors::TrainingMode::kAsync;
  begin();
  BOOST_TEST(leave("s0a") < 10);
  BOOST_REQUIRE(ends().size() == 1u);
  BOOST_TEST(!ends()[0].slots);
  BOOST_TEST(ends()[0].finished, ends()[0].reason);
  BOOST_TEST(run_to_end(600s));
}

BOOST_AUTO_TEST_CASE(a_step_that_takes_longer_than_the_grace_is_not_waited_for) {
  limits.drain_s = 4;  // two of them for the snapshot
  training.batch = 64;
  training.steps = 10;
  begin(400ms);
  BOOST_REQUIRE(system.advance_until([&] { return holds_none("s0a"); }, 60s, 1ms));
  wait_until_it_holds_a_slot("s0a");  // of a step that has just begun
  BOOST_TEST(leave("s0a") < 3);
  BOOST_REQUIRE(ends().size() == 1u);
  BOOST_TEST(!ends()[0].finished);
  BOOST_TEST(ends()[0].slots.value() > 0u);
  BOOST_TEST(ends()[0].waited_s < 2.1);
  BOOST_TEST(events->count("lost") == 1u);
  check_end(5);
}

// Ctrl-C of all: nothing that anybody waits for would come.
BOOST_AUTO_TEST_CASE(when_all_leave_at_once_nobody_waits_for_the_others) {
  begin(400ms);
  wait_until_it_holds_a_slot("s0a");
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes) names.push_back(name);
  size_t left = 0;
  for (const auto& name : names) drain(name, [&] { ++left; });
  BOOST_TEST(system.advance_until([&] { return left == names.size(); }, 4s, 10ms));
  BOOST_TEST(ends().size() == 6u);
  for (const auto& end : ends()) BOOST_TEST(end.waited_s < 1);
}

// It asks the next one, which knows it only once it has registered.
BOOST_AUTO_TEST_CASE(when_the_coordinator_dies_the_next_one_lets_it_go) {
  begin(100ms);
  wait_until_it_holds_a_slot("s0a");
  bool left = false;
  drain("s0a", [&] { left = true; });
  system.advance(20ms);
  BOOST_REQUIRE(!left);
  for (const char* name : {"trainer-a", "trainer-b"})
    if (describe(nodes[name].actors.at(2)).find(": standby,") == std::string::npos) {
      kill(name);
      break;
    }
  BOOST_TEST(system.advance_until([&] { return left; }, 20s, 1ms));
  kill("s0a");
  BOOST_TEST(ends().at(0).slots.value() == 0u);
  BOOST_TEST(ends().at(0).finished, ends().at(0).reason);
  check_end(5);
}

// Its slots were failed, and computed again.
BOOST_AUTO_TEST_CASE(a_trainer_lets_its_microbatches_come_back) {
  begin(100ms);
  bool left = false;
  const auto carries = [&] {
    return describe(nodes["trainer-b"].actors.back()).find("in flight 0 of") == std::string::npos;
  };
  BOOST_REQUIRE(system.advance_until(carries, 30s, 1ms));
  drain("trainer-b", [&] { left = true; });
  system.advance(20ms);
  BOOST_TEST(!left);
  BOOST_TEST(system.advance_until([&] { return left; }, 4s, 1ms));
  BOOST_TEST(!carries());
  BOOST_TEST(describe(nodes["trainer-b"].actors.back()).find("failed 0,") != std::string::npos);
  kill("trainer-b");
  check_end(6);
}

// Nobody had them again until a lease ended, if the node stayed because of a stage that it served.
BOOST_AUTO_TEST_CASE(what_a_trainer_cannot_wait_for_others_carry) {
  limits.drain_s = 1;
  begin(800ms);
  const auto carries = [&] {
    return describe(nodes["trainer-b"].actors.back()).find("in flight 0 of") == std::string::npos;
  };
  BOOST_REQUIRE(system.advance_until(carries, 60s, 1ms));
  bool left = false;
  drain("trainer-b", [&] { left = true; });
  BOOST_TEST(system.advance_until([&] { return left; }, 1s, 10ms));
  BOOST_TEST(!carries());
  BOOST_TEST(run_to_step(4));
}

BOOST_AUTO_TEST_CASE(without_a_coordinator_it_leaves_at_once) {
  begin(400ms);
  wait_until_it_holds_a_slot("s0a");
  for (const char* name : {"trainer-a", "trainer-b"}) kill(name);
  system.advance(50ms);
  BOOST_TEST(leave("s0a") < 5);
  BOOST_REQUIRE(ends().size() == 1u);
  BOOST_TEST(ends()[0].slots.value() > 0u);
}

// Whether its microbatches were still forward only did not matter: they died.
BOOST_AUTO_TEST_CASE(what_is_in_hand_is_finished_first) {
  begin(100ms);
  const auto busy = [&] { return text("s0a").find("resident 0 of") == std::string::npos; };
  BOOST_REQUIRE(system.advance_until(busy, 30s, 1ms));
  bool left = false;
  drain("s0a", [&] { left = true; });
  system.advance(20ms);
  BOOST_TEST(text("s0a").find(", serving, leaves,") != std::string::npos, text("s0a"));
  BOOST_TEST(system.advance_until([&] { return left; }, 30s, 1ms));
  kill("s0a");
  BOOST_TEST(ends().at(0).slots.value() == 0u);
  BOOST_TEST(events->count("recompute") == 0u);
  check_end(5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm
