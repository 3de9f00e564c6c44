// One stage server within a small swarm: its life, its neighbours in the node that hang.
#include "actors/stage/stage_server.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>

#include "actors/net/errors.h"
#include "actors/net/local.h"
#include "swarm/state.pb.h"
#include "tests/support/ids.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

struct OneStage : testing::SimSwarm {
  /// `slots`: of a step, `steps`: of the run; 0: as many as usual.
  explicit OneStage(uint32_t slots = 0, uint32_t steps = 0) {
    num_stages = 1;
    if (steps > 0) training.steps = steps;
    if (slots > 0) training.batch = slots * training.microbatch;
    add_trainer("trainer");
  }
  void add(const sim::MachineTimes& times) {
    Swarm::add_peer("peer", 0, times);
    start("peer");
  }
  bool joins_within(std::chrono::seconds limit) {
    return system.advance_until([this] { return events->count("joined") > 0; }, limit, 10ms);
  }
  std::string phase() { return describe(nodes["peer"].stage_server); }
  bool is(const std::string& phase_name) {
    return phase().find(", " + phase_name + ",") != std::string::npos;
  }
  /// Counts up when the peer says that its node may be ended.
  std::shared_ptr<int> drain() {
    auto answers = std::make_shared<int>(0);
    system->spawn([answers, target = nodes["peer"].stage_server](caf::event_based_actor* self) {
      self->request(target, caf::infinite, actors::drain_atom::value).then([answers](bool) {
        ++*answers;
      });
    });
    system.run();
    return answers;
  }
  ErrorCode refusal(const actors::Mail& mail) {
    auto outcome = std::make_shared<ErrorCode>(ErrorCode::kNone);
    system->spawn([=, target = nodes["peer"].stage_server](caf::event_based_actor* self) {
      self->request(target, caf::infinite, mail)
          .then([](const actors::Mail&) {},
                [outcome](const caf::error& e) { *outcome = actors::from_caf(e).code; });
    });
    system.run();
    return *outcome;
  }
};

/// The step ends with its only slot.
struct OneSlot : OneStage {
  OneSlot() : OneStage(1) {}
};

BOOST_AUTO_TEST_SUITE(StageServerTest)

// It waited for the disk for ever, and so did the swarm.
BOOST_FIXTURE_TEST_CASE(a_disk_that_hangs_leaves_no_peer_loading, OneStage) {
  stage_options.disk_limit = 2s;
  add({1ms, 10h});
  BOOST_TEST(joins_within(10s));
  BOOST_TEST(events->count("checkpoint_failed") > 0u);
}

BOOST_FIXTURE_TEST_CASE(a_device_that_hangs_ends_the_peer, OneStage) {
  stage_options.device_limit = 2s;
  add({10h, 0ms});
  BOOST_TEST(system.advance_until([this] { return events->count("failed") > 0; }, 10s, 10ms));
}

BOOST_FIXTURE_TEST_CASE(a_device_that_is_slow_does_not, OneStage) {
  stage_options.device_limit = 2s;
  add({300ms, 0ms});
  BOOST_TEST(run_to_step(1));
  BOOST_TEST(events->count("failed") == 0u);
}

// The second asker was told at once that the node may be ended.
BOOST_FIXTURE_TEST_CASE(nobody_may_end_a_node_before_its_last_snapshot_is_durable, OneStage) {
  add({1ms, 3s});
  BOOST_TEST(joins_within(10s));
  auto first = drain();
  system.advance(1s);
  auto second = drain();
  system.advance(1s);
  BOOST_TEST(*first == 0);
  BOOST_TEST(*second == 0);
  system.advance(5s);
  BOOST_TEST(*first == 1);
  BOOST_TEST(*second == 1);
  BOOST_TEST(*drain() == 1);
}

// The end of the loading made it register, and it served again.
BOOST_FIXTURE_TEST_CASE(told_to_leave_while_it_loads_it_does_not_serve, OneStage) {
  add({1ms, 3s});
  BOOST_TEST(system.advance_until([this] { return is("loading"); }, 10s, 10ms));
  auto left = drain();
  system.advance(20s);
  BOOST_TEST(is("draining"), phase());
  BOOST_TEST(*left == 1);
  BOOST_TEST(events->count("joined") == 0u);
}

// Each had a copy of the whole state in memory, and its own turn at the disk.
BOOST_FIXTURE_TEST_CASE(however_many_ask_for_a_snapshot_one_is_written, OneStage) {
  checkpoint.every_steps = 0;
  add({1ms, 3s});
  BOOST_TEST(joins_within(10s));
  kill("trainer");  // the state stays as it is
  system.advance(1s);
  const auto before = events->count("checkpointed");
  auto answers = std::make_shared<int>(0);
  system->spawn([answers, target = nodes["peer"].stage_server](caf::event_based_actor* self) {
    for (int i = 0; i < 50; ++i)
      self->request(target, caf::infinite, actors::make_mail(proto::SaveCheckpoint()))
          .then([answers](const actors::Mail&) { ++*answers; });
  });
  system.advance(7s);
  BOOST_TEST(*answers == 50);
  BOOST_TEST(events->count("checkpointed") == before + 1);
}

BOOST_FIXTURE_TEST_CASE(mail_of_another_mode_is_refused, OneStage) {
  add({});
  BOOST_TEST(joins_within(10s));
  BOOST_TEST(refusal(actors::make_mail(proto::EndPeriod())) == ErrorCode::kInvalidArgument);
  BOOST_TEST(refusal(actors::make_mail(proto::Lease())) == ErrorCode::kInvalidArgument);
}

// A new coordinator counted it on the peer's word and closed the step; then the computation failed, and the
// update lacked a slot that counted.
BOOST_FIXTURE_TEST_CASE(a_slot_that_is_still_being_computed_does_not_count, OneSlot) {
  add_trainer("another");
  add({20s, 0ms});
  BOOST_REQUIRE(run_to_step(2, 300s));
  nodes["peer"].arithmetic->fails_next = true;
  const bool computing = system.advance_until(
      [this] { return phase().find("slots held 1, round") != std::string::npos; }, 60s, 10ms);
  BOOST_TEST_REQUIRE(computing, phase());
  const bool first = describe(nodes["trainer"].actors[2]).find("standby") == std::string::npos;
  kill(first ? "trainer" : "another");
  BOOST_TEST(run_to_end(1000s));
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 1);
  BOOST_TEST(events->count("sum_dropped") > 0u);
}

// What a state descends from is in its snapshots, and so outlives the process.
BOOST_FIXTURE_TEST_CASE(a_snapshot_keeps_its_history, OneStage) {
  add({});
  BOOST_REQUIRE(run_to_step(3));
  kill("peer");
  start("peer");
  BOOST_REQUIRE(run_to_end());
  const auto& loaded = events->loaded_states.back();
  BOOST_TEST(loaded.source == "own_snapshot");
  BOOST_TEST(loaded.step > 0u);
  const auto before = std::find_if(events->committed_steps.begin(), events->committed_steps.end(),
                                   [&](const auto& one) { return one.step + 1 == loaded.step; });
  BOOST_REQUIRE((before != events->committed_steps.end()));
  BOOST_TEST(loaded.history == before->history);
  BOOST_TEST(loaded.history != 0u);
}

struct TwoPeers : OneStage {
  TwoPeers() : OneStage(0, 300) {  // they are killed on their way
    add({});
    Swarm::add_peer("other", 0, {});
    start("other");
  }
  /// The newest snapshot on a disk says that something else led to it.
  uint64_t give_another_history(const std::string& name) {
    sim::Disk& disk = *disks.at(name);
    auto [step, value] = *disk.durable().at("stage/0").rbegin();
    proto::StageState state;
    state.ParseFromString(value.bytes);
    state.set_history(state.history() + 1);
    disk.put({"stage/0", step}, state.SerializeAsString(), 9);
    disk.sync(disk.changes());
    return step;
  }
};

// The bits of the two are equal; only their histories tell them apart.
BOOST_FIXTURE_TEST_CASE(who_has_the_step_of_another_history_fetches, TwoPeers) {
  BOOST_REQUIRE(run_to_step(3));
  system.advance(1s);
  for (const char* name : {"trainer", "peer", "other"}) kill(name);
  for (const char* name : {"peer", "other"}) {
    auto steps = disks.at(name)->durable().at("stage/0");
    BOOST_REQUIRE(!steps.empty());
  }
  const uint64_t step = give_another_history("other");
  events->loaded_states.clear();
  for (const char* name : {"trainer", "peer", "other"}) start(name);
  BOOST_REQUIRE(run_to_end());
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 2);
  std::map<uint64_t, std::string> from;  // by history, of the step
  for (const auto& state : events->loaded_states)
    if (state.step == step) from[state.history] += state.source + " ";
  BOOST_REQUIRE(from.size() == 1u);
  BOOST_TEST(from.begin()->second.find("own_snapshot") != std::string::npos);
  BOOST_TEST(from.begin()->second.find("neighbours") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
