// Copies of a stage's snapshots on nodes of other stages: all peers of a stage are gone with their disks.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>

#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

/// Three stages of two peers each, a step takes about a second, a snapshot every second step.
struct Copied : testing::SimSwarm {
  explicit Copied(actors::TrainingMode mode = actors::TrainingMode::kSync) {
    training.mode = mode;
    training.steps = 40;
    training.min_peers_per_stage = 2;
    checkpoint.copies = 1;
    add_trainer("trainer");
    for (const auto& [name, stage] : peers) Swarm::add_peer(name, stage, {50ms, 1ms});
  }
  bool closes(uint64_t step) {
    const auto closed = [this, step] {
      return !events->steps.empty() && events->steps.back().step >= step;
    };
    return system.advance_until(closed, 3600s, 100ms);
  }
  void begin() {
    for (const auto& [name, stage] : peers) start(name);
    BOOST_REQUIRE(closes(11));
    system.advance(1s);
  }
  void lose_stage_1() {
    kill("a1");
    kill("b1");
    disks.erase("a1");
    disks.erase("b1");
    events->events.clear();
  }
  void come_anew() {
    for (const char* name : {"c1", "d1"}) {
      Swarm::add_peer(name, 1, {50ms, 1ms});
      start(name);
    }
  }
  static std::string stream(int stage) { return "stage/" + std::to_string(stage); }
  std::set<std::string> holders_of(int stage) const {
    std::set<std::string> names;
    for (const auto& [name, of] : peers)
      if (of != stage && disks.count(name) != 0 && disks.at(name)->durable().count(stream(stage)))
        names.insert(name);
    return names;
  }
  /// Where peers went on from copies.
  std::set<int64_t> from_copies() const {
    std::set<int64_t> steps;
    for (const auto& event : events->events)
      if (const auto restored = event.as<records::Restored>(); restored && event.stage == 1)
        if (restored->source == "copies") steps.insert(event.step);
    return steps;
  }

  const std::map<std::string, int> peers = {{"a0", 0}, {"b0", 0}, {"a1", 1},
                                            {"b1", 1}, {"a2", 2}, {"b2", 2}};
};

struct CopiedInPeriods : Copied {
  CopiedInPeriods() : Copied(actors::TrainingMode::kAsync) {
    observer.metrics = [this](const std::string&, const records::StepMetrics& line) {
      events->metrics(line);
    };
  }
};

BOOST_AUTO_TEST_SUITE(CopiesTest)

BOOST_FIXTURE_TEST_CASE(each_stage_has_a_copy_elsewhere_and_old_ones_go, Copied) {
  begin();
  BOOST_TEST(events->count("copy_failed") == 0u);
  for (int stage = 0; stage < 3; ++stage) {
    const auto holders = holders_of(stage);
    BOOST_REQUIRE(holders.size() >= 1u);
    BOOST_TEST(holders.size() <= 2u);  // the next one may just have got it
    for (const auto& name : holders) {
      const auto& steps = disks.at(name)->durable().at(stream(stage));
      BOOST_TEST(steps.size() <= 2u);
      BOOST_TEST(steps.rbegin()->first >= 6u);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_stage_that_is_lost_with_its_disks_goes_on_from_a_copy, Copied) {
  begin();
  lose_stage_1();
  come_anew();
  BOOST_TEST(run_to_end(3600s));
  BOOST_REQUIRE(from_copies().size() == 1u);
  BOOST_TEST(*from_copies().begin() >= 6);
  BOOST_TEST(events->count("initialized") == 0u);
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 6);
}

BOOST_FIXTURE_TEST_CASE(a_copy_that_is_damaged_is_passed_over, Copied) {
  begin();
  const auto holders = holders_of(1);
  lose_stage_1();
  int64_t spoiled = 0;
  for (const auto& name : holders) {
    spoiled = static_cast<int64_t>(disks.at(name)->durable().at(stream(1)).rbegin()->first);
    disks.at(name)->spoil_newest();
  }
  come_anew();
  BOOST_TEST(run_to_end(3600s));
  BOOST_REQUIRE(from_copies().size() == 1u);
  BOOST_TEST(*from_copies().begin() < spoiled);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(the_holders_may_have_been_restarted, Copied) {
  begin();
  for (const auto& [name, stage] : peers) kill(name);
  disks.erase("a1");
  disks.erase("b1");
  events->events.clear();
  for (const char* name : {"a0", "b0", "a2", "b2"}) start(name);
  come_anew();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(from_copies().size() == 1u);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(without_copies_the_swarm_says_what_is_missing_and_waits, Copied) {
  checkpoint.copies = 0;
  begin();
  for (int stage = 0; stage < 3; ++stage) BOOST_TEST(holders_of(stage).empty());
  lose_stage_1();
  const size_t closed = events->steps.size();
  come_anew();
  system.advance(120s);
  BOOST_TEST(events->count("cannot_go_on") >= 1u);
  BOOST_TEST(events->count("initialized") == 0u);
  BOOST_TEST(events->steps.size() == closed);
}

BOOST_FIXTURE_TEST_CASE(a_disk_that_takes_no_copy_is_told_and_stops_nobody, Copied) {
  begin();
  const std::string holder = *holders_of(1).begin();
  disks.at(holder)->fill();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(events->count("copy_failed") >= 1u);
  BOOST_TEST(check_parameters() == "");
  for (int stage = 0; stage < 3; ++stage) BOOST_TEST(!holders_of(stage).empty());
}

BOOST_FIXTURE_TEST_CASE(copies_are_of_the_history_that_stayed, Copied) {
  begin();
  lose_stage_1();
  come_anew();
  BOOST_REQUIRE(closes(25));  // on from a copy, with copies of the new history
  kill("c1");
  kill("d1");
  disks.erase("c1");
  disks.erase("d1");
  events->events.clear();
  for (const char* name : {"e1", "f1"}) {
    Swarm::add_peer(name, 1, {50ms, 1ms});
    start(name);
  }
  BOOST_TEST(run_to_end(3600s));
  BOOST_REQUIRE(from_copies().size() == 1u);
  BOOST_TEST(*from_copies().begin() >= 20);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(an_asynchronous_stage_goes_on_from_its_copy, CopiedInPeriods) {
  begin();
  lose_stage_1();
  come_anew();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(!from_copies().empty());
  BOOST_TEST(events->count("initialized") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
