/// Parts that have both gone on, one of them forced, have met: what their peers may do.
#include <boost/test/unit_test.hpp>
#include <map>
#include <optional>
#include <utility>

#include "routing/membership/admission.h"
#include "routing/membership/gathering.h"
#include "tests/support/cut_swarm.h"

namespace swarm::routing {
namespace {

using std::chrono::seconds;
using testing::Cut;
using testing::process_of;

/// Two parts have met, and peers of two stages register.
struct Met {
  Met() {
    cut.gather(both, "abcde");
    options.steps = 20;
    options.consent = &both;
    gathering.emplace(options, roster);
    gathering->begin("a test", std::nullopt, cut.swarm.now);
  }
  /// Snapshots of these steps and histories.
  void kept(const std::string& node, uint32_t stage, const std::map<Step, History>& snapshots) {
    PeerReport one;
    for (const auto& [step, history] : snapshots) one.snapshots.push_back(step);
    one.snapshot_histories = snapshots;
    roster.report({process_of(node), "stage.0"}, Stage(stage), node, one);
  }
  std::optional<Step> planned() {
    gathering->next(cut.swarm.now + seconds(10));
    return gathering->planned_step();
  }

  Cut cut;
  Consent both;
  Roster roster{2};
  GatheringOptions options;
  std::optional<Gathering> gathering;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(meeting_of_peers)

BOOST_FIXTURE_TEST_CASE(of_a_line_that_was_given_up_counts_what_the_other_has_too, Met) {
  kept("a", 0, {{Step(1), History(11)}, {Step(2), History(12)}});
  kept("d", 0, {{Step(1), History(11)}, {Step(2), History(22)}});
  kept("e", 1, {{Step(1), History(11)}, {Step(2), History(22)}});
  BOOST_TEST((planned() == Step(1)));
}

// What both had before they parted lay aside there, and nowhere else any more.
BOOST_FIXTURE_TEST_CASE(what_is_listed_after_the_rest_was_set_aside_counts, Met) {
  kept("a", 0, {{Step(2), History(12)}});
  kept("b", 1, {});
  const std::map<Step, History> back{{Step(1), History(11)}};
  kept("d", 0, back);
  kept("e", 1, back);
  BOOST_TEST(!planned());
  BOOST_TEST(gathering->lacks_states());
  const auto told = held_back({process_of("d"), "stage.0"}, both.attendance(), roster, true);
  BOOST_REQUIRE((told.has_value() && told->line_left.has_value()));
  for (const char* node : {"d", "e"}) roster.find({process_of(node), "stage.0"})->line_left = 1;
  BOOST_TEST((planned() == Step(1)));
}

BOOST_FIXTURE_TEST_CASE(nothing_begins_anew_while_only_a_line_that_was_given_up_has_snapshots,
                        Met) {
  kept("a", 0, {});
  kept("b", 1, {});
  kept("d", 0, {{Step(2), History(22)}});
  kept("e", 1, {{Step(2), History(22)}});
  BOOST_TEST(!planned());
  BOOST_TEST((gathering->admit({process_of("a"), "stage.0"}).kind == Verdict::Kind::kWait));
  BOOST_TEST(gathering->lacks_states());  // they hear that what was before may come back
  for (const char* node : {"d", "e"}) roster.find({process_of(node), "stage.0"})->line_left = 1;
  kept("d", 0, {});
  kept("e", 1, {});
  BOOST_TEST(!planned());  // though nobody has anything any more
}

BOOST_FIXTURE_TEST_CASE(who_gave_up_its_line_is_held_back_until_what_is_not_shared_is_set_aside,
                        Met) {
  kept("a", 0, {{Step(1), History(11)}, {Step(2), History(12)}, {Step(3), History()}});
  kept("d", 0, {{Step(1), History(11)}, {Step(2), History(22)}, {Step(3), History(23)}});
  kept("e", 1, {{Step(1), History(11)}, {Step(2), History(22)}});
  const PeerId a{process_of("a"), "stage.0"}, d{process_of("d"), "stage.0"};
  BOOST_TEST(!held_back(a, both.attendance(), roster, true));
  BOOST_TEST(!held_back(d, both.attendance(), roster, false));  // nobody knows yet what is shared
  const auto held = held_back(d, both.attendance(), roster, true);
  BOOST_REQUIRE(held.has_value());
  BOOST_TEST((held->kind == Verdict::Kind::kWait));
  BOOST_REQUIRE(held->line_left.has_value());
  BOOST_TEST(held->line_left->number == 1u);
  BOOST_TEST(
      (held->line_left->shared == KnownPlaces{{Step(1), History(11)}, {Step(2), History(12)}}));
  BOOST_TEST(held->line_left->keeps(Step(1), History(11)));
  BOOST_TEST(!held->line_left->keeps(Step(2), History(22)));
  roster.find(d)->line_left = 1;
  BOOST_TEST(!held_back(d, both.attendance(), roster, true));
  both.attendance().nodes().at("d").voter = "d#.2";  // it has given up another one since
  BOOST_TEST(held_back(d, both.attendance(), roster, true).has_value());
  both.attendance().nodes().at("d").stand = Stand::kLoses;  // and is about to give up this one
  const auto loses = held_back(d, both.attendance(), roster, true);
  BOOST_REQUIRE(loses.has_value());
  BOOST_TEST(!loses->line_left.has_value());
}

// It was taken for one that had only waited, and served with what its node gave up a moment later.
BOOST_FIXTURE_TEST_CASE(nobody_is_admitted_before_its_voter_has_said_of_which_line_it_is, Met) {
  kept("a", 0, {{Step(1), History(11)}});
  const PeerId a{process_of("a"), "stage.0"};
  auto& voter = both.attendance().nodes().at("a");
  const std::string name = std::exchange(voter.voter, "");
  BOOST_TEST(held_back(a, both.attendance(), roster, true).has_value());
  // What it has was taken for shared by others that had given that line up.
  BOOST_TEST(of_other_lines(both.attendance(), roster).count(a) == 1u);
  voter.fails_since = Time();
  BOOST_TEST(of_other_lines(both.attendance(), roster).count(a) == 0u);
  BOOST_TEST(
      !held_back(a, both.attendance(), roster, true));  // its disk is full: it is not kept out
  voter.fails_since.reset();
  voter.voter = name;
  BOOST_TEST(!held_back(a, both.attendance(), roster, true));
}

// It kept what its own part had made as what was there before this one's fork.
BOOST_FIXTURE_TEST_CASE(nobody_hears_of_a_fork_before_it_has_left_the_line_of_another_one, Met) {
  const ConfigurationNumber fork(7);
  kept("a", 0, {});
  kept("d", 0, {});
  const PeerId a{process_of("a"), "stage.0"}, d{process_of("d"), "stage.0"};
  const auto told = [&](const PeerId& id, const Verdict& verdict) {
    return told_fork(id, fork, verdict, both.attendance(), roster);
  };
  Verdict leaves;
  leaves.line_left = LineLeft();
  BOOST_TEST((told(a, {}) == fork));
  BOOST_TEST((told(d, {}) == ConfigurationNumber()));
  BOOST_TEST((told(d, leaves) == fork));
  roster.find(d)->line_left = 1;
  BOOST_TEST((told(d, {}) == fork));
  auto& voter = both.attendance().nodes().at("d");
  const std::string name = std::exchange(voter.voter, "");
  BOOST_TEST((told(d, {}) == ConfigurationNumber()));
  BOOST_TEST(both.attendance().silent(d.node));
  voter.fails_since = Time();
  BOOST_TEST(both.attendance().silent(d.node));  // what it had from before is not spare
  voter.voter = name;
  BOOST_TEST(!both.attendance().silent(d.node));
}

// Those whose disks were busy were left out, and the swarm went back to what others had.
BOOST_FIXTURE_TEST_CASE(nothing_is_planned_before_voters_of_those_here_had_time_to_answer, Met) {
  kept("a", 0, {{Step(2), History(12)}});
  kept("b", 1, {{Step(2), History(12)}});
  auto& voter = both.attendance().nodes().at("b");
  const std::string name = std::exchange(voter.voter, "");
  gathering->next(cut.swarm.now + seconds(2));
  BOOST_TEST(!gathering->planned_step());
  gathering->next(cut.swarm.now + seconds(9));  // its budget is not over
  BOOST_TEST(!gathering->planned_step());
  voter.voter = name;
  gathering->next(cut.swarm.now + seconds(2));
  BOOST_TEST((gathering->planned_step() == Step(2)));
}

// Its disk had not taken it yet when it loaded another state.
BOOST_FIXTURE_TEST_CASE(nobody_takes_part_in_a_forked_line_before_it_has_kept_what_was_before,
                        Met) {
  kept("a", 0, {{Step(1), History(11)}});
  const PeerId a{process_of("a"), "stage.0"};
  BOOST_TEST(!held_before_fork(a, ConfigurationNumber(), roster));
  BOOST_TEST(held_before_fork(a, ConfigurationNumber(3), roster).has_value());
  roster.find(a)->kept_before = ConfigurationNumber(3);
  BOOST_TEST(!held_before_fork(a, ConfigurationNumber(3), roster));
}

BOOST_AUTO_TEST_CASE(a_voter_is_named_by_the_lines_that_it_gave_up) {
  BOOST_TEST(lines_given_up("d#.1") == 1u);
  BOOST_TEST(lines_given_up("s1#0f3a.12") == 12u);
  BOOST_TEST(lines_given_up("s1#0f3a") == 0u);
  BOOST_TEST(lines_given_up("a.b#0f3a") == 0u);
  BOOST_TEST(lines_given_up("a.7") == 0u);
  BOOST_TEST(disk_of("a.b#0f3a.2") == "a.b#0f3a");
  BOOST_TEST(disk_of("s1#0f3a") == "s1#0f3a");
  BOOST_TEST(disk_of("a.b") == "a.b");
}

BOOST_AUTO_TEST_CASE(states_of_a_line_that_was_given_up_are_not_planned_with) {
  Cut cut;
  Consent both;
  cut.gather(both, "abcde");
  Roster roster(2);
  GatheringOptions options;
  options.steps = 20;
  options.consent = &both;
  Gathering gathering(options, roster);
  gathering.begin("a test", std::nullopt, cut.swarm.now);
  const auto report = [&roster](const std::string& node, uint32_t stage, uint64_t step) {
    PeerReport one;
    one.has_state = true;
    one.step = one.open_step = Step(step);
    one.snapshots = {Step(step)};
    roster.report({process_of(node), "stage.0"}, Stage(stage), node, one);
  };
  report("a", 0, 2);
  report("b", 1, 2);
  report("d", 0, 3);
  report("e", 1, 3);
  gathering.next(cut.swarm.now + seconds(10));
  BOOST_TEST((gathering.planned_step() == Step(2)));
  const Verdict verdict = gathering.admit({process_of("d"), "stage.0"});
  BOOST_TEST((verdict.kind == Verdict::Kind::kFetch));
}

BOOST_AUTO_TEST_CASE(a_node_that_gave_up_its_line_takes_part_once_all_its_peers_serve) {
  Cut cut;
  cut.larger.came("d", process_of("d"));
  cut.swarm.talk(cut.larger);
  Attendance& attendance = cut.larger.attendance();
  Roster roster(2);
  const PeerId first{process_of("d"), "stage.0"}, second{process_of("d"), "stage.1"};
  roster.report(first, Stage(0), "d", {});
  roster.report(second, Stage(1), "d", {});
  roster.find(first)->serving = true;
  takes_part(attendance, roster, process_of("d"));
  BOOST_TEST(!attendance.nodes().at("d").takes_part);
  roster.find(second)->serving = true;
  roster.find(first)->line_left = 1;
  takes_part(attendance, roster, process_of("d"));
  BOOST_TEST(!attendance.nodes().at("d").takes_part);  // the other has what was given up
  roster.find(second)->line_left = 1;
  roster.find(second)->node_peers = 3;
  takes_part(attendance, roster, process_of("d"));
  BOOST_TEST(!attendance.nodes().at("d").takes_part);  // one only starts, and has what was given up
  roster.find(second)->node_peers = 2;
  takes_part(attendance, Roster(2), process_of("d"), 2);  // its trainer is there first
  BOOST_TEST(!attendance.nodes().at("d").takes_part);
  takes_part(attendance, roster, process_of("d"));
  BOOST_TEST(attendance.nodes().at("d").takes_part);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing
