#include "routing/membership/roster.h"

#include <boost/test/unit_test.hpp>

#include "routing/membership/replicas.h"

using namespace swarm;
using namespace swarm::routing;

namespace {

NodeId node(uint8_t n) {
  NodeId id;
  id.bytes[15] = n;
  return id;
}
PeerId peer(uint8_t n) { return {node(n), "stage.0"}; }

PeerReport at(uint64_t step, uint64_t checksum = 1) {
  PeerReport report;
  report.has_state = true;
  report.step = report.open_step = Step(step);
  report.checksum = checksum;
  return report;
}

PeerFacts& serve(Roster& roster, uint8_t n, uint32_t stage, const PeerReport& report) {
  roster.report(peer(n), Stage(stage), "n" + std::to_string(n), report);
  PeerFacts& facts = roster.peers().at(peer(n));
  facts.serving = true;
  return facts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RosterOfPeers)

BOOST_AUTO_TEST_CASE(a_report_does_not_overtake_the_answer_of_a_commit_under_way) {
  Roster roster(1);
  serve(roster, 1, 0, at(4)).commit_pending = true;
  BOOST_TEST(!roster.report(peer(1), Stage(0), "n1", at(3)));
  BOOST_TEST(roster.find(peer(1))->step == Step(4));
  roster.find(peer(1))->commit_pending = false;
  roster.report(peer(1), Stage(0), "n1", at(5));
  BOOST_TEST(roster.find(peer(1))->step == Step(5));
}

BOOST_AUTO_TEST_CASE(a_step_is_durable_everywhere_when_some_peer_of_each_stage_has_it) {
  Roster roster(2);
  serve(roster, 1, 0, at(9)).snapshots = {Step(8), Step(4)};
  BOOST_TEST(!roster.newest_everywhere().has_value());
  serve(roster, 2, 1, at(9)).snapshots = {Step(6), Step(2)};
  BOOST_TEST(!roster.newest_everywhere().has_value());
  BOOST_TEST(roster.everywhere(Step(6)));  // or a later one each: another question
  serve(roster, 3, 1, at(9)).snapshots = {Step(4), Step(2)};
  BOOST_TEST((roster.newest_everywhere() == Step(4)));
  roster.find(peer(3))->serving = false;  // it has just started: it has not read what it lists
  BOOST_TEST(!roster.newest_everywhere().has_value());
}

// A swarm had gone back to a step of which two stages had copies only. It was pinned nowhere, and the third stage pruned
// it when it had the next one, which the others did not have yet.
BOOST_AUTO_TEST_CASE(a_copy_is_as_durable_as_what_it_is_a_copy_of) {
  Roster roster(2);
  serve(roster, 1, 0, at(9)).snapshots = {Step(8), Step(4)};
  auto& other = serve(roster, 2, 1, at(9));
  other.copies = {{Stage(0), Step(9), History(1)}};
  BOOST_TEST(!roster.newest_everywhere().has_value());
  roster.find(peer(1))->copies = {{Stage(1), Step(8), History(2)}, {Stage(2), Step(9), History(1)}};
  BOOST_TEST((roster.newest_everywhere() == Step(8)));
  roster.find(peer(1))->snapshot_histories[Step(8)] = History(1);
  BOOST_TEST(!roster.newest_everywhere().has_value());
}

BOOST_AUTO_TEST_CASE(snapshots_of_two_histories_are_no_step_that_is_durable_everywhere) {
  Roster roster(2);
  auto& one = serve(roster, 1, 0, at(9));
  auto& two = serve(roster, 2, 1, at(9));
  one.snapshots = two.snapshots = {Step(8), Step(4)};
  one.snapshot_histories = {{Step(8), History(1)}, {Step(4), History(3)}};
  two.snapshot_histories = {{Step(8), History(2)}};
  BOOST_TEST((roster.newest_everywhere() == Step(4)));
  two.snapshot_histories[Step(8)] = History(1);
  BOOST_TEST((roster.newest_everywhere() == Step(8)));
}

BOOST_AUTO_TEST_CASE(that_snapshots_fail_again_and_again_is_told_once) {
  Roster roster(1);
  PeerReport report = at(4);
  const auto tells = [&](uint32_t failed) {
    report.saves.failed = failed;
    roster.report(peer(1), Stage(0), "n1", report);
    return roster.begins_to_fail(peer(1));
  };
  BOOST_TEST(!tells(0));
  BOOST_TEST(!tells(1));
  BOOST_TEST(tells(2));
  BOOST_TEST(!tells(2));
  BOOST_TEST(!tells(5));
  BOOST_TEST(!tells(0));
  BOOST_TEST(tells(3));
}

BOOST_AUTO_TEST_CASE(the_second_life_of_a_role_replaces_the_first) {
  Roster roster(2);
  roster.report({node(1), "stage.0"}, Stage(0), "a", at(1));
  roster.report({node(1), "stage.1"}, Stage(1), "a", at(1));
  roster.report({node(2), "stage.0"}, Stage(0), "b", at(1));
  const auto before = roster.predecessors({node(1), "stage.0.1"});
  BOOST_TEST((before == std::vector<PeerId>{{node(1), "stage.0"}}));
}

BOOST_AUTO_TEST_CASE(replicas_are_compared_once_all_have_answered_their_commit) {
  Roster roster(1);
  serve(roster, 1, 0, at(4, 7));
  PeerFacts& late = serve(roster, 2, 0, at(3, 6));
  BOOST_TEST(!Replicas(roster).at(Stage(0), Step(4)).has_value());
  late.checksum = 8;
  late.checksum_step = Step(4);
  const auto found = Replicas(roster).at(Stage(0), Step(4));
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->replicas == 2u);
  BOOST_TEST(found->checksums.size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_a_round_left_is_compared_though_the_peer_has_registered_since) {
  Roster roster(1);
  for (uint8_t n : {1, 2, 3}) serve(roster, n, 0, at(4)).after_round = RoundChecksum{Round(77), 42};
  roster.find(peer(3))->after_round->checksum = 43;
  roster.report(peer(1), Stage(0), "n1", at(5, 0));  // it trains on and registers every second
  const auto found = Replicas(roster).after(Round(77), {peer(1), peer(2), peer(3)});
  BOOST_TEST(found.replicas == 3u);
  BOOST_TEST(found.checksums.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_checksum_is_of_a_step_and_never_of_a_round) {
  Roster roster(1);
  roster.report(peer(1), Stage(0), "n1", at(5, 9));
  BOOST_TEST((roster.find(peer(1))->checksum_step == std::optional<Step>(5)));
  roster.report(peer(1), Stage(0), "n1", PeerReport{});
  BOOST_TEST(!roster.find(peer(1))->checksum_step.has_value());
}

BOOST_AUTO_TEST_CASE(replicas_that_trained_apart_have_other_bits) {
  Roster roster(1);
  serve(roster, 1, 0, at(4, 7));
  roster.report(peer(2), Stage(0), "n2", at(4, 8));
  BOOST_TEST((Replicas(roster).compare(peer(2)) == Bits::kOther));
  roster.report(peer(2), Stage(0), "n2", at(4, 7));
  BOOST_TEST((Replicas(roster).compare(peer(2)) == Bits::kEqual));
  roster.find(peer(1))->checksum_step = Step(3);  // its commit is under way
  BOOST_TEST((Replicas(roster).compare(peer(2)) == Bits::kNotKnown));
}

BOOST_AUTO_TEST_CASE(a_step_is_durable_everywhere_when_every_stage_has_it_or_a_later_one) {
  Roster roster(2);
  serve(roster, 1, 0, at(9)).snapshots = {Step(6), Step(9)};
  serve(roster, 2, 1, at(9)).snapshots = {Step(6)};
  BOOST_TEST(roster.everywhere(Step(6)));
  BOOST_TEST(!roster.everywhere(Step(9)));
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_just_started_lists_snapshots_that_it_has_not_read_yet) {
  Roster roster(1);
  PeerReport torn = at(0);
  torn.has_state = false;
  torn.snapshots = {Step(6)};
  roster.report(peer(1), Stage(0), "n1", torn);
  BOOST_TEST(!roster.everywhere(Step(6)));
}

BOOST_AUTO_TEST_CASE(the_first_stage_without_a_serving_peer_is_named) {
  Roster roster(3);
  serve(roster, 1, 0, at(1));
  roster.report(peer(2), Stage(1), "n2", at(1));
  BOOST_TEST((roster.unserved_stage() == std::optional<Stage>(1)));
  BOOST_TEST(roster.newcomers(Step(1)).size() == 1u);
  BOOST_TEST(roster.reported() == 2u);
}

BOOST_AUTO_TEST_CASE(who_learns_is_waited_for_only_when_it_misses_no_more_than_the_last_updates) {
  Roster roster(1);
  serve(roster, 1, 0, at(1));
  PeerReport learner;
  roster.report(peer(2), Stage(0), "n2", learner);
  BOOST_TEST(roster.newcomers(Step(1)).empty());  // it has nothing at all
  learner = at(7);
  roster.report(peer(2), Stage(0), "n2", learner);
  BOOST_TEST(roster.newcomers(Step(9)).empty());  // it is behind, and has not begun to learn
  learner = at(0);
  learner.state_bytes = 100;
  learner.learned_bytes = 99;
  roster.report(peer(2), Stage(0), "n2", learner);
  BOOST_TEST(roster.newcomers(Step(1)).empty());
  learner.has_state = false;
  learner.learned_bytes = 100;
  roster.report(peer(2), Stage(0), "n2", learner);
  BOOST_TEST(roster.newcomers(Step(1)).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(TrafficOfNodes)

BOOST_AUTO_TEST_CASE(a_node_with_two_roles_counts_once) {
  NodeTraffic traffic;
  traffic.report(node(1), {100, 0, 0, 5});  // its trainer says what the node has sent,
  traffic.report(node(1), {110, 0, 0, 5});  // and its stage server does so too
  traffic.report(node(2), {10, 0, 0, 0});
  BOOST_TEST((traffic.since_last(4) == NodeTraffic::Bytes{120, 0, 0, 5}));
  BOOST_TEST((traffic.since_last(4) == NodeTraffic::Bytes{0, 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(what_one_role_says_late_takes_nothing_away) {
  NodeTraffic traffic;
  traffic.report(node(1), {100});
  traffic.report(node(1), {90});
  BOOST_TEST((traffic.since_last(1) == NodeTraffic::Bytes{100}));
}

BOOST_AUTO_TEST_CASE(a_lost_node_takes_its_counters_with_it) {
  NodeTraffic traffic;
  traffic.report(node(1), {100});
  traffic.report(node(2), {100});
  traffic.since_last(1);
  traffic.forget(node(1));
  traffic.report(node(2), {130});
  BOOST_TEST((traffic.since_last(1) == NodeTraffic::Bytes{0}));
}

BOOST_AUTO_TEST_SUITE_END()
