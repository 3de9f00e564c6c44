// What was once durable in every stage stays so; disks that fail are told of; a run's end says whether
// it is on a disk.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <set>
#include <string>

#include "actors/net/local.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

/// Two stages of one peer each; a step takes some ten seconds.
struct TwoStages : testing::SimSwarm {
  explicit TwoStages(uint32_t steps = 60) {
    num_stages = 2;
    training.steps = steps;
    checkpoint.keep = 1;
    add_trainer("trainer");
    Swarm::add_peer("first", 0, {500ms, 1ms});
    Swarm::add_peer("second", 1, {500ms, 1ms});
    start("first");
    start("second");
  }
  bool closes(uint64_t step) {
    const auto closed = [this, step] {
      return !events->steps.empty() && events->steps.back().step >= step;
    };
    return system.advance_until(closed, 3600s, 100ms);
  }
  std::set<uint64_t> stored(const std::string& name) const {
    std::set<uint64_t> steps;
    const auto& streams = disks.at(name)->durable();
    const auto found = streams.find(name == "first" ? "stage/0" : "stage/1");
    if (found != streams.end())
      for (const auto& [step, value] : found->second) steps.insert(step);
    return steps;
  }
  /// What the end of the run says of itself.
  std::string not_durable() const {
    for (const auto& event : events->events)
      if (const auto end = event.as<records::RunFinished>()) return end->not_durable.value_or("");
    return "there is none";
  }
  /// What its stage server answers when it is told to end.
  std::string leave(const std::string& name) {
    std::string answer;
    system->spawn([&, role = nodes.at(name).stage_server](caf::event_based_actor* self) {
      self->request(role, caf::infinite, actors::drain_atom::value)
          .then([&](bool saved) { answer = saved ? "saved" : "not saved"; },
                [&](const caf::error&) { answer = "error"; });
    });
    BOOST_REQUIRE(system.advance_until([&] { return !answer.empty(); }, 60s, 100ms));
    return answer;
  }
  void kill_all() {
    for (const char* name : {"trainer", "first", "second"}) kill(name);
  }
  void start_all() {
    for (const char* name : {"trainer", "first", "second"}) start(name);
  }
};

struct ShortRun : TwoStages {
  ShortRun() : TwoStages(6) {}
};

BOOST_AUTO_TEST_SUITE(DurableTest)

// The first stage's disk had dropped the last step that both had; the run could never go on.
BOOST_FIXTURE_TEST_CASE(a_disk_that_is_full_for_long_does_not_end_the_run, TwoStages) {
  BOOST_REQUIRE(closes(4));
  disks.at("second")->fill();
  BOOST_REQUIRE(closes(50));
  const auto first = stored("first"), second = stored("second");
  BOOST_TEST(first.size() == 2u);  // the newest, and the newest that both have
  BOOST_TEST(first.count(*second.rbegin()) == 1u);
  BOOST_TEST(*second.rbegin() < 10u);
  BOOST_TEST(*first.rbegin() > 20u);  // snapshots go on
  BOOST_TEST(events->count("snapshots_fail") == 1u);
  kill_all();
  disks.at("second")->fill(false);
  start_all();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(events->count("cannot_go_on") == 0u);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(who_leaves_says_whether_its_last_state_is_on_the_disk, TwoStages) {
  BOOST_REQUIRE(closes(4));
  disks.at("second")->fill();
  BOOST_TEST(leave("first") == "saved");
  BOOST_TEST(leave("second") == "not saved");
}

BOOST_FIXTURE_TEST_CASE(an_end_that_no_disk_takes_is_said_to_be_not_durable, ShortRun) {
  BOOST_REQUIRE(closes(2));
  disks.at("second")->fill();
  BOOST_REQUIRE(run_to_end(3600s));
  BOOST_TEST(not_durable().find("no space") != std::string::npos, not_durable());
}

BOOST_FIXTURE_TEST_CASE(the_end_of_a_run_is_durable_where_disks_work, ShortRun) {
  BOOST_REQUIRE(run_to_end(3600s));
  BOOST_TEST(not_durable() == "");
  BOOST_TEST(*stored("second").rbegin() == training.steps);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
