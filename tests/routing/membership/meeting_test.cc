/// Parts that have both gone on, one of them forced, meet.
#include <boost/test/unit_test.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "routing/membership/admission.h"
#include "routing/membership/consent.h"
#include "routing/membership/gathering.h"
#include "tests/support/voters.h"

namespace swarm::routing {
namespace {

using std::chrono::seconds;
using testing::at;
using testing::ballot;
using testing::come;
using testing::commit;
using testing::lead;
using testing::list;
using testing::process_of;
using Swarm = testing::VotersOfSwarm;

/// Five that train to step 1, and are cut: "abc" goes on to step 3, and "de" is forced to, up to step 6.
struct Cut {
  Swarm swarm{"abcde"};
  Consent larger, smaller;

  Cut() {
    Consent one;
    lead(one, swarm, "abcde");
    commit(one, swarm, 0);
    swarm.away = {"d", "e"};
    lead(larger, swarm, "abc", 1, 2);
    commit(larger, swarm, 1);
    commit(larger, swarm, 2);
    swarm.away = {"a", "b", "c"};
    come(smaller, "de");
    force(smaller, 3);
    open(smaller, 1);
    for (uint64_t step = 1; step < 6; ++step) commit(smaller, swarm, step);
    swarm.away.clear();
  }
  void force(Consent& consent, uint64_t term) {
    consent.begin(ballot(term));
    swarm.talk(consent);
    swarm.pass(consent, seconds(6));
    BOOST_REQUIRE(consent.force(swarm.now));
    consent.begin(ballot(term + 1));
    swarm.talk(consent);
    BOOST_REQUIRE_EQUAL(consent.waits_for(), "");
  }
  /// Under a ballot above all before.
  void gather(Consent& consent, const std::string& nodes) {
    come(consent, nodes);
    consent.begin(ballot(9));
    swarm.talk(consent);
  }
  void open(Consent& consent, uint64_t step) {
    consent.open(at(step), swarm.now);
    swarm.talk(consent);
    BOOST_REQUIRE(consent.open(at(step), swarm.now));
  }
  uint64_t forks(const std::string& voter) const {
    return swarm.voters.at(voter).record().decided.forks.size();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(meeting_of_parts)

BOOST_AUTO_TEST_CASE(where_two_parts_meet_the_unforced_one_stays_and_the_other_joins_it_anew) {
  Cut cut;
  BOOST_TEST(cut.smaller.configuration().forks.size() == 1u);
  BOOST_TEST(cut.forks("d") == 1u);
  BOOST_TEST((cut.smaller.bounds().forked_in == cut.smaller.configuration().forks[0].number));
  Consent both;
  cut.gather(both, "abcde");
  BOOST_TEST(both.waits_for() == "");
  BOOST_TEST(both.configuration().forks.empty());
  BOOST_TEST((both.bounds().forked_in == ConfigurationNumber()));
  BOOST_TEST((*both.bounds().newest == Step(3)));  // not the seventh of the others
  BOOST_TEST(both.attendance().barred().count(process_of("d")) == 1u);
  BOOST_TEST(!both.attendance().apart());
  BOOST_TEST(both.attendance().barred().count(process_of("a")) == 0u);
  for (const auto* voter : {"d", "e"}) {
    BOOST_TEST(cut.swarm.voters.at(voter).answer().voter == std::string(voter) + "#.1");
    BOOST_TEST(cut.swarm.voters.at(voter).record().forsaken);
    BOOST_TEST(cut.forks(voter) == 0u);
  }
  cut.open(both, 3);
  BOOST_TEST(list(both) == "abc");
  come(both, "de");
  commit(both, cut.swarm, 3);
  commit(both, cut.swarm, 4);
  BOOST_TEST((both.configuration().voters == Voters{"a", "b", "c", "d#.1", "e#.1"}));
  BOOST_TEST(!cut.swarm.voters.at("d").record().forsaken);
}

BOOST_AUTO_TEST_CASE(a_forced_part_whose_coordinator_meets_the_unforced_one_gathers_anew) {
  Cut cut;
  come(cut.smaller, "a");
  cut.swarm.talk(cut.smaller);
  BOOST_TEST((cut.smaller.snag(cut.swarm.now) == Consent::Snag::kNone));
  BOOST_TEST(cut.smaller.attendance().apart());
  commit(cut.smaller, cut.swarm, 6);
  BOOST_TEST(list(cut.smaller) == "de");  // one of three does not stop it, and is not taken
  BOOST_TEST(cut.forks("a") == 0u);
  come(cut.smaller, "bc");
  cut.swarm.talk(cut.smaller);
  BOOST_TEST((cut.smaller.snag(cut.swarm.now) == Consent::Snag::kMeeting));
  cut.smaller.begin(ballot(9));
  cut.swarm.talk(cut.smaller);
  BOOST_TEST(cut.smaller.waits_for() == "");
  BOOST_TEST(cut.smaller.configuration().forks.empty());
}

// They were three of five, and waited for ever.
BOOST_AUTO_TEST_CASE(who_was_apart_when_a_forced_part_gathered_counts_with_those_that_come_later) {
  Cut cut;
  Consent next;
  cut.gather(next, "ade");
  BOOST_REQUIRE_EQUAL(next.waits_for(), "");
  cut.open(next, 6);
  BOOST_TEST(next.configuration().forks.size() == 1u);
  BOOST_TEST((next.snag(cut.swarm.now) == Consent::Snag::kNone));
  come(next, "b");
  cut.swarm.talk(next);
  BOOST_TEST((next.snag(cut.swarm.now) == Consent::Snag::kMeeting));
}

BOOST_AUTO_TEST_CASE(people_may_have_those_that_wait_apart_give_up_their_line) {
  Cut cut;
  BOOST_TEST(!cut.smaller.force(cut.swarm.now));
  come(cut.smaller, "a");
  cut.swarm.talk(cut.smaller);
  BOOST_TEST(cut.smaller.force(cut.swarm.now));
  cut.smaller.begin(ballot(9));
  cut.swarm.talk(cut.smaller);
  BOOST_TEST(cut.forks("a") == 1u);
  BOOST_TEST(cut.swarm.voters.at("a").record().forsaken);
  cut.open(cut.smaller, 6);
  BOOST_TEST(cut.smaller.configuration().forks.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_comes_from_a_forced_part_while_the_other_trains_gives_its_line_up) {
  Cut cut;
  come(cut.larger, "de");
  cut.swarm.talk(cut.larger);  // they have answered a higher ballot
  BOOST_TEST(cut.swarm.voters.at("d").answer().voter == "d#.1");
  BOOST_TEST(!cut.larger.outranked().has_value());
  come(cut.larger, "de");
  commit(cut.larger, cut.swarm, 3);
  BOOST_TEST(cut.larger.configuration().voters.size() == 5u);
}

// Both lines would have been given up.
BOOST_AUTO_TEST_CASE(nobody_gives_its_line_up_for_one_whose_nodes_have_just_gone_silent) {
  Cut cut;
  cut.swarm.pass(cut.larger, seconds(1));
  cut.swarm.away = {"b", "c"};  // no link is lost yet
  come(cut.larger, "de");
  cut.swarm.talk(cut.larger);
  BOOST_TEST(cut.forks("d") == 1u);
  BOOST_TEST(cut.larger.attendance().loses(process_of("d")));
  cut.swarm.away.clear();
  cut.swarm.pass(cut.larger, seconds(1));
  BOOST_TEST(cut.forks("d") == 0u);
}

BOOST_AUTO_TEST_CASE(nobody_gives_its_line_up_for_answers_that_were_long_under_way) {
  Cut cut;
  cut.swarm.pass(cut.larger, seconds(1));
  cut.larger.want_votes(Step(3));
  std::vector<std::pair<VoterAsk, Result<VoterReply>>> under_way;
  for (const VoterAsk& ask : cut.larger.due(cut.swarm.now))
    under_way.emplace_back(ask, cut.swarm.reach(ask));
  BOOST_REQUIRE(under_way.size() == 3u);
  cut.swarm.now += seconds(1);
  cut.swarm.away = {"a", "b", "c"};
  come(cut.larger, "de");
  cut.swarm.talk(cut.larger);
  for (const auto& [ask, reply] : under_way) cut.larger.answered(ask, reply, cut.swarm.now);
  cut.swarm.talk(cut.larger);
  BOOST_TEST(cut.forks("d") == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_gives_its_line_up_for_answers_from_before_it_came) {
  Cut cut;
  Consent both;
  cut.gather(both, "abc");
  BOOST_TEST(both.waits_for() == "");
  cut.swarm.pass(both, seconds(1));
  cut.swarm.away = {"b", "c"};
  come(both, "de");
  cut.swarm.talk(both);
  BOOST_TEST(cut.forks("d") == 1u);
  cut.swarm.away.clear();
  cut.swarm.pass(both, seconds(1));
  BOOST_TEST(cut.forks("d") == 0u);
}

BOOST_AUTO_TEST_CASE(who_joins_anew_has_no_vote_before_it_takes_part) {
  Cut cut;
  cut.larger.came("d", process_of("d"));
  cut.swarm.talk(cut.larger);
  commit(cut.larger, cut.swarm, 3);
  BOOST_TEST(list(cut.larger) == "abc");
  BOOST_TEST(cut.larger.attendance().barred().count(process_of("d")) == 1u);
  cut.larger.attendance().takes_part(process_of("d"));
  commit(cut.larger, cut.swarm, 4);
  BOOST_TEST(list(cut.larger) == "abcd#.1");
  cut.swarm.talk(cut.larger);
  BOOST_TEST(cut.larger.attendance().barred().count(process_of("d")) == 0u);
}

// Its trainer had asked for leases before its voter had said anything: the vote came back at once, and what it gave
// up was of no other line any more.
BOOST_AUTO_TEST_CASE(who_took_part_before_its_voter_gave_its_line_up_does_not_any_more) {
  Cut cut;
  Roster roster(2);
  roster.report({process_of("d"), "stage.0"}, Stage(0), "d", {});
  cut.larger.came("d", process_of("d"));
  takes_part(cut.larger.attendance(), roster, process_of("d"));
  BOOST_TEST(
      !cut.larger.attendance().nodes().at("d").takes_part);  // nobody knows of which line it is
  cut.larger.attendance().takes_part(process_of("d"));
  cut.swarm.talk(cut.larger);
  BOOST_TEST(!cut.larger.attendance().nodes().at("d").takes_part);
  commit(cut.larger, cut.swarm, 3);
  BOOST_TEST(list(cut.larger) == "abc");
  BOOST_TEST(cut.swarm.voters.at("d").record().forsaken);
}

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
