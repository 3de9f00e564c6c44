// A part that was forced to go on meets the one whose history stays: what it saved meanwhile is set aside, for good.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "actors/net/mail_kinds.h"
#include "actors/voter/voter_mail.h"
#include "tensor/core/state_format.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

/// Two stages. Six nodes of eleven are cut from five, which have more of the peers. Both parts go on beyond the step
/// of the first snapshot.
struct TwoParts : testing::SimSwarm {
  explicit TwoParts(actors::TrainingMode mode = actors::TrainingMode::kSync, uint32_t keep = 9) {
    training.mode = mode;
    num_stages = 2;
    training.steps = in_steps() ? 60 : 400;
    training.batch = 8;
    checkpoint.every_steps = kSaved;
    checkpoint.keep = keep;
    checkpoint.copies = 1;
    net.set_model({}, 1);
    for (const auto& [name, stage] : peers)
      Swarm::add_peer(name, stage, {name[0] == 'a' ? 300ms : 100ms, 1ms});
    for (const char* name : {"t1", "t2", "t3", "t4", "u1"}) Swarm::add_trainer(name);
    observer.loaded = [this](const std::string& node, const records::LoadedState& state) {
      loads[node] = {state.step, state.history};
    };
    for (const auto& name : everybody()) start(name);
    BOOST_REQUIRE(run_to_step(2));
  }
  std::vector<std::string> everybody() const {
    std::vector<std::string> all = larger;
    all.insert(all.end(), smaller.begin(), smaller.end());
    return all;
  }
  bool within(std::chrono::seconds limit, const std::function<bool()>& done) {
    return system.advance_until(done, limit, 10ms);
  }
  bool in_steps() const { return training.mode == actors::TrainingMode::kSync; }
  bool saved(const std::string& name) const {
    const auto found = histories(name, "stage/0");  // beside that of step 0
    return in_steps() ? found.count(kSaved) == 1 : found.size() > 1;
  }
  uint64_t step_of(const std::string& name) const {
    const auto& node = nodes.at(name);
    return node.arithmetic == nullptr ? 0 : node.arithmetic->step();
  }
  /// The smaller part is told to go on, until its `peer` is beyond `step`.
  void divide(std::chrono::seconds limit, const std::string& peer, uint64_t step) {
    for (const auto& a : larger)
      for (const auto& b : smaller) cut_both_ways(a, b);
    BOOST_REQUIRE(within(60s, [this] { return events->count("minority") > 0; }));
    const std::string text = describe(nodes.at("u1").actors[2]);
    BOOST_TEST(text.find("u1: minority, term") != std::string::npos, text);
    BOOST_REQUIRE(within(limit, [&] {
      order(actors::make_mail(proto::GoOn()));
      return step_of(peer) > step;
    }));
  }
  void part() {
    divide(60s, "c0", 4);
    BOOST_REQUIRE(within(60s, [this] { return saved("a0") && saved("c0"); }));
    for (const auto& [step, history] : histories("a0", "stage/0")) stays[step] = history;
    for (const auto& [step, history] : histories("c0", "stage/0")) given_up[step] = history;
    if (in_steps()) BOOST_REQUIRE(stays.at(kSaved) != given_up.at(kSaved));
  }
  bool all_of_the_smaller(const std::function<bool(const routing::VoterRecord&)>& are) const {
    return std::all_of(smaller.begin(), smaller.end(), [&](const std::string& name) {
      const auto record = actors::read_voter_record(*disks.at(name)->kept());
      return record && are(*record);
    });
  }
  /// Until all of the smaller part have a vote of the line that goes on.
  void meet() {
    net.heal_all();
    BOOST_REQUIRE(within(60s, [this] {
      return all_of_the_smaller([](const auto& one) { return one.given_up == 1 && !one.forsaken; });
    }));
    BOOST_REQUIRE((!in_steps() || step_of("a0") < 2 * kSaved));
  }
  void kill_and_start_all() {
    for (const auto& name : everybody()) kill(name);
    loads.clear();
    for (const auto& name : everybody()) start(name);
  }
  void check_that_all_go_on_with_what_stays() {
    BOOST_REQUIRE(within(60s, [this] { return loads.size() == peers.size(); }));
    for (const auto& [node, state] : loads) {
      BOOST_TEST(state.first == kSaved, node);
      BOOST_TEST(state.second == stays.at(kSaved), node);
    }
    BOOST_TEST(run_to_end(600s));
  }
  std::map<uint64_t, uint64_t> histories(const std::string& node, const std::string& stream) const {
    std::map<uint64_t, uint64_t> found;
    const auto& streams = disks.at(node)->durable();
    const auto snapshots = streams.find(stream);
    if (snapshots == streams.end()) return found;
    for (const auto& [step, value] : snapshots->second)
      found[step] = tensor::history_of(Buffer::from_string(value.bytes));
    return found;
  }
  static bool is_of(const std::map<uint64_t, uint64_t>& line, uint64_t step, uint64_t history) {
    const auto found = line.find(step);
    return found != line.end() && found->second == history;
  }
  /// Of the line that was given up, among those that are listed.
  std::set<std::string> listed_still() const {
    std::set<std::string> found;
    for (const auto& [node, disk] : disks)
      for (const auto& [stream, snapshots] : disk->durable())
        for (const auto& [step, history] : histories(node, stream))
          if (stream.rfind("stage/", 0) == 0 && is_of(given_up, step, history) &&
              !is_of(stays, step, history))
            found.insert(node + ":" + stream + ":" + std::to_string(step));
    return found;
  }

  static constexpr uint64_t kSaved = 10;
  const std::map<std::string, int> peers = {{"a0", 0}, {"a1", 1}, {"c0", 0},
                                            {"c1", 1}, {"d0", 0}, {"d1", 1}};
  const std::vector<std::string> larger = {"a0", "a1", "t1", "t2", "t3", "t4"};
  const std::vector<std::string> smaller = {"c0", "c1", "d0", "d1", "u1"};
  std::map<uint64_t, uint64_t> stays, given_up;  ///< Histories of snapshots, by step.
  std::map<std::string, std::pair<uint64_t, uint64_t>> loads;
};

/// What the larger part had of stage 1 is lost while it is apart, and the smaller one has trained on for so long that
/// its snapshots from before are pruned.
struct LastCopyElsewhere : TwoParts {
  LastCopyElsewhere() : TwoParts(actors::TrainingMode::kSync, /*keep=*/1) {
    BOOST_REQUIRE(run_to_step(kSaved + 2));
    BOOST_REQUIRE(within(60s, [this] {
      return std::all_of(peers.begin(), peers.end(), [this](const auto& peer) {
        return histories(peer.first, stream_of(peer.second)).count(kSaved) == 1;
      });
    }));
    divide(120s, "c1", 3 * kSaved + 2);  // the pin of before is gone too
    kill("a1");
    *disks.at("a1") = sim::Disk();
  }
  static std::string stream_of(int stage) { return "stage/" + std::to_string(stage); }
};

struct TwoPartsInPeriods : TwoParts {
  TwoPartsInPeriods() : TwoParts(actors::TrainingMode::kAsync) {}
};

BOOST_AUTO_TEST_SUITE(MeetingTest)

BOOST_FIXTURE_TEST_CASE(snapshots_of_a_line_that_is_given_up_are_set_aside, TwoParts) {
  part();
  meet();
  BOOST_TEST(listed_still() == std::set<std::string>(), boost::test_tools::per_element());
  for (const auto& [name, stage] : peers) {
    const std::string stream = "aside/1/stage/" + std::to_string(stage);
    const bool gave_up = name[0] != 'a';
    BOOST_TEST(histories(name, stream).count(kSaved) == (gave_up ? 1u : 0u), name);
    if (!gave_up) continue;
    BOOST_TEST(histories(name, stream).at(kSaved) == given_up.at(kSaved));
    const std::string text = describe(nodes.at(name).stage_server);
    BOOST_TEST(text.find(stream + " ") != std::string::npos, text);
  }
  BOOST_TEST(events->count("line_set_aside") == 4u);
  kill("c0");
  start("c0");
  system.advance(2s);
  const std::string text = describe(nodes.at("c0").stage_server);
  BOOST_TEST(text.find("aside/1/stage/0 ") != std::string::npos, text);
}

BOOST_FIXTURE_TEST_CASE(
    after_a_meeting_and_the_end_of_all_processes_the_history_that_stayed_goes_on, TwoParts) {
  part();
  meet();
  kill_and_start_all();
  check_that_all_go_on_with_what_stays();
}

BOOST_FIXTURE_TEST_CASE(who_dies_before_it_has_set_aside_what_it_gave_up_begins_with_that,
                        TwoParts) {
  part();
  net.heal_all();
  BOOST_REQUIRE(system.advance_until(
      [this] { return all_of_the_smaller([](const auto& one) { return one.forsaken; }); }, 60s,
      100us));
  BOOST_REQUIRE(events->count("line_set_aside") == 0u);
  BOOST_REQUIRE(listed_still().size() >= 4u);
  kill_and_start_all();
  check_that_all_go_on_with_what_stays();
  BOOST_TEST(listed_still() == std::set<std::string>(), boost::test_tools::per_element());
  BOOST_TEST(events->count("line_set_aside") == 4u);
}

// A part that goes on by force must not be the end of the other: nobody could go on after the meeting.
BOOST_FIXTURE_TEST_CASE(
    what_a_part_had_before_it_was_forced_to_go_on_is_there_for_the_one_that_stays,
    LastCopyElsewhere) {
  const auto before = histories("c1", "aside/before/stage/1");
  BOOST_REQUIRE(before.count(kSaved) == 1u);
  BOOST_REQUIRE(histories("c1", "stage/1").count(kSaved) == 0u);
  start("a1");
  net.heal_all();
  BOOST_TEST(run_to_end(600s));
  BOOST_TEST(histories("c1", "aside/before/stage/1").empty());
  BOOST_TEST(events->count("line_set_aside") == 4u);
}

// What had been taken back was set aside again with what is not shared, and nothing brought it back a second time.
BOOST_FIXTURE_TEST_CASE(what_was_taken_back_is_taken_back_again_by_who_dies_before_a_list_has_it,
                        LastCopyElsewhere) {
  start("a1");
  net.heal_all();
  BOOST_REQUIRE(
      system.advance_until([this] { return events->count("line_set_aside") == 4; }, 60s, 100us));
  kill_and_start_all();
  BOOST_TEST(run_to_end(600s));
  BOOST_TEST(histories("c1", "aside/before/stage/1").empty());
}

// Its state was replaced by the one that the part went back to, and what it had before was not kept.
BOOST_FIXTURE_TEST_CASE(who_cannot_keep_what_was_before_a_fork_takes_no_part_until_it_can,
                        TwoParts) {
  BOOST_REQUIRE(run_to_step(kSaved + 2));
  disks.at("c0")->fill();
  for (const auto& a : larger)
    for (const auto& b : smaller) cut_both_ways(a, b);
  BOOST_REQUIRE(within(60s, [this] { return events->count("minority") > 0; }));
  bool trains = false;
  for (int i = 0; i < 6 && !trains;
       ++i) {  // not all the time: its voter, with the same disk, is waited for
    order(actors::make_mail(proto::GoOn()));
    trains = within(20s, [this] { return step_of("d0") > kSaved + 6; });
  }
  BOOST_REQUIRE(trains);
  const uint64_t waits_at = step_of("c0");
  BOOST_TEST(waits_at < kSaved + 6);
  BOOST_TEST(histories("c0", "aside/before/stage/0").empty());
  disks.at("c0")->fill(false);
  BOOST_TEST(within(60s, [&] { return step_of("c0") > kSaved + 6; }));
  BOOST_TEST(histories("c0", "aside/before/stage/0").count(kSaved) == 1u);
}

BOOST_FIXTURE_TEST_CASE(without_names_of_histories_nothing_of_a_line_that_is_given_up_stays,
                        TwoPartsInPeriods) {
  part();
  meet();
  const auto aside = histories("c0", "aside/1/stage/0");
  for (const auto& [step, history] : given_up) BOOST_TEST(aside.count(step) == 1u, step);
  BOOST_TEST(loads.at("c0").first <= step_of("a0"));  // what the others had
  BOOST_TEST(run_to_end(600s));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
