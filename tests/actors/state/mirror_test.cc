// The mirror of a swarm's snapshots: machines that are gone with their disks, files that are damaged,
// a mirror that takes nothing.
#include "actors/state/mirror.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "storage/mirror_plan.h"
#include "tests/storage/storage_fixtures.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// Two stages of two peers each; a step takes about a second.
struct Mirrored : testing::SimSwarm {
  Mirrored() {
    num_stages = 2;
    training.steps = 40;
    checkpoint.keep = 2;
    checkpoint.mirror = folder.path();
    training.min_peers_per_stage = 2;
    add_trainer("trainer");
    for (const auto& [name, stage] : peers) Swarm::add_peer(name, stage, {50ms, 1ms});
  }
  void start_peers() {
    for (const auto& [name, stage] : peers) start(name);
  }
  bool closes(uint64_t step) {
    const auto closed = [this, step] {
      return !events->steps.empty() && events->steps.back().step >= step;
    };
    return system.advance_until(closed, 3600s, 100ms);
  }
  /// All machines go, with their disks; others take their names.
  void lose_everything() {
    for (const auto& [name, stage] : peers) kill(name);
    kill("trainer");
    for (auto& [name, disk] : disks) disk = std::make_shared<sim::Disk>();
    events->events.clear();
  }
  void begin_again() {
    start("trainer");
    start_peers();
  }
  storage::MirrorFiles files() const {
    return storage::list_mirror(storage::mirror_folder(folder.path(), "run")).value();
  }
  /// The newest complete one of the first stage.
  storage::MirrorFile newest() const { return storage::complete_files(files(), 0, 2).at(0); }
  std::string path_of(const storage::MirrorFile& file) const {
    return storage::mirror_folder(folder.path(), "run") + "/" + storage::mirror_name(file);
  }
  /// Where peers went on from.
  std::set<int64_t> restored() const {
    std::set<int64_t> steps;
    for (const auto& event : events->events)
      if (event.as<records::Restored>()) steps.insert(event.step);
    return steps;
  }

  testing::TemporaryDirectory folder;
  const std::map<std::string, int> peers = {{"a0", 0}, {"b0", 0}, {"a1", 1}, {"b1", 1}};
};

BOOST_AUTO_TEST_SUITE(MirrorTest)

BOOST_FIXTURE_TEST_CASE(a_run_goes_on_from_the_mirror_when_all_disks_are_gone, Mirrored) {
  start_peers();
  BOOST_REQUIRE(closes(11));
  system.advance(1s);
  BOOST_TEST(storage::complete_files(files(), 0, 2).size() == 2u);  // as many as are kept
  BOOST_TEST(events->count("mirror_failed") == 0u);
  lose_everything();
  const auto from = newest();
  BOOST_TEST(from.step >= 8u);
  begin_again();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(restored().count(static_cast<int64_t>(from.step)) == 1u);
  BOOST_TEST(events->count("initialized") == 0u);
  BOOST_TEST(events->count("mirror_taken") >= 2u);
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 4);
}

// Stage 0 had offered the newest only, which stage 1 could not read.
BOOST_FIXTURE_TEST_CASE(a_damaged_file_is_told_and_all_go_on_from_an_older_step, Mirrored) {
  start_peers();
  BOOST_REQUIRE(closes(11));
  lose_everything();
  const auto spoiled = newest();
  const auto older = storage::complete_files(files(), 0, 2).at(1);
  fs::resize_file(path_of({spoiled.step, 1, spoiled.history}), 300);
  begin_again();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(events->count("mirror_refused") >= 1u);
  BOOST_TEST(restored().count(static_cast<int64_t>(older.step)) == 1u);
  BOOST_TEST(restored().count(static_cast<int64_t>(spoiled.step)) == 0u);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(who_has_its_own_snapshots_takes_nothing, Mirrored) {
  start_peers();
  BOOST_REQUIRE(closes(11));
  for (const auto& [name, stage] : peers) kill(name);
  events->events.clear();
  start_peers();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(events->count("mirror_taken") == 0u);
}

// The mirror had it still, and all took it from there.
BOOST_FIXTURE_TEST_CASE(what_was_set_aside_of_a_line_that_was_given_up_does_not_come_back,
                        Mirrored) {
  start_peers();
  BOOST_REQUIRE(closes(11));
  system.advance(1s);
  const auto given_up = newest();
  for (const auto& [name, stage] : peers) {
    kill(name);
    disks.at(name)->set_aside({{"stage/" + std::to_string(stage), given_up.step}}, "1");
    disks.at(name)->sync(disks.at(name)->changes());
  }
  events->events.clear();
  start_peers();
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(events->count("mirror_taken") == 0u);
  BOOST_TEST(restored().count(static_cast<int64_t>(given_up.step)) == 0u);
  for (const auto& file : files()) BOOST_TEST((file.history != given_up.history));
}

BOOST_FIXTURE_TEST_CASE(a_mirror_that_takes_nothing_is_told_and_stops_nobody, Mirrored) {
  checkpoint.mirror = folder.path() + "/mirror";
  fs::create_directory(checkpoint.mirror);
  start_peers();
  BOOST_REQUIRE(closes(1));
  fs::remove_all(checkpoint.mirror);
  BOOST_TEST(run_to_end(3600s));
  const size_t told = events->count("mirror_failed");
  BOOST_TEST(told >= 4u);  // by each peer
  BOOST_TEST(told <= 8u);  // and not with each snapshot
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(a_mirror_that_comes_back_is_written_again, Mirrored) {
  const std::string run = storage::mirror_folder(folder.path(), "run");
  start_peers();
  BOOST_REQUIRE(closes(1));
  fs::remove_all(run);
  std::ofstream(run) << "no folder";
  BOOST_REQUIRE(closes(5));
  BOOST_TEST(events->count("mirror_failed") > 0u);
  fs::remove(run);
  BOOST_TEST(run_to_end(3600s));
  system.advance(actors::kMirrorRetry + 1s);
  BOOST_TEST(newest().step == 40u);
}

BOOST_FIXTURE_TEST_CASE(no_run_begins_while_its_mirror_cannot_be_listed, Mirrored) {
  checkpoint.mirror = folder.path() + "/mirror";
  start_peers();
  system.advance(120s);
  BOOST_TEST(events->count("initialized") == 0u);
  BOOST_TEST(events->count("mirror_failed") == 4u);  // each peer, once
  fs::create_directory(checkpoint.mirror);
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 4);
}

BOOST_FIXTURE_TEST_CASE(a_mirror_of_which_nothing_can_be_taken_is_asked_once_a_minute, Mirrored) {
  const std::string run = storage::mirror_folder(folder.path(), "run") + "/";
  for (const uint32_t stage : {0u, 1u})  // neither file nor damaged
    fs::create_directories(run + storage::mirror_name({8, stage, 7}));
  start_peers();
  system.advance(150s);
  BOOST_TEST(events->count("initialized") == 0u);
  BOOST_TEST(events->count("mirror_refused") >= 8u);  // by each peer when it starts, and then
  BOOST_TEST(events->count("mirror_refused") <= 20u);
}

// It began at step 0 again, beside its own snapshots.
BOOST_FIXTURE_TEST_CASE(a_run_waits_for_the_mirror_that_has_its_snapshots, Mirrored) {
  checkpoint.mirror = folder.path() + "/mirror";
  fs::create_directory(checkpoint.mirror);
  start_peers();
  BOOST_REQUIRE(closes(11));
  lose_everything();
  const auto files = storage::list_mirror(checkpoint.mirror, "run").value();
  const auto from = storage::complete_files(files, 0, 2).at(0);
  fs::rename(checkpoint.mirror, checkpoint.mirror + ".unmounted");
  begin_again();
  system.advance(60s);
  BOOST_TEST(events->count("restored") == 0u);
  fs::rename(checkpoint.mirror + ".unmounted", checkpoint.mirror);
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(restored().count(static_cast<int64_t>(from.step)) == 1u);
  BOOST_TEST(events->count("initialized") == 0u);
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
