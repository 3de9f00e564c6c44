#include "apps/audit/audit.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "apps/audit/audit_run.h"
#include "routing/steps/history.h"
#include "tests/apps/audit/story.h"

namespace swarm::launch {
namespace {

/// "n" has taken office before "m".
void context_of_two(Story& story) {
  story.event(records::CoordinatorActive{2});
  story.time += 10;
  story.event(records::CoordinatorActive{3});
  story.context.events.back().node = "m";
  story.time += 10;
}

/// What the audit says of a right history after `spoil`.
std::string spoilt(const std::function<void(Story&)>& spoil) {
  Story story;
  story.tell();
  spoil(story);
  return story.violation();
}

void check_says(const std::string& part, const std::function<void(Story&)>& spoil) {
  const std::string text = spoilt(spoil);
  BOOST_TEST(contains(text, part), "expected \"" << part << "\", found \"" << text << "\"");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(AuditTest)

BOOST_AUTO_TEST_CASE(a_right_history_passes_with_its_numbers) {
  Story story;
  story.tell();
  story.event(records::Recompute{3}, 1);
  story.event(records::SumDropped{5, "held 5 slots, counted 4"}, 1);
  story.event(records::ChaosAct{0, "kill", false});
  story.event(records::TimelineAct{0, "kill"});
  story.event(records::ChaosAct{1, "pause", false});
  const auto report = story.report();
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(report.finished);
  const auto& totals = report.totals;
  BOOST_TEST(totals.steps == 2u);
  BOOST_TEST(totals.slots == 8u);
  BOOST_TEST(totals.samples == 16u);
  BOOST_TEST(totals.contributions == 16u);
  BOOST_TEST(totals.lost == 3u);
  BOOST_TEST(totals.dropped == 5u);
  BOOST_TEST(totals.kills == 2u);
  BOOST_TEST(totals.pauses == 1u);
  BOOST_TEST(totals.checksums == 4u);
}

BOOST_AUTO_TEST_CASE(a_slot_counted_twice_is_seen) {
  check_says("step 1, stage 0: slot 0 is counted twice, at s0-a", [](Story& s) {
    auto& held = s.log.closed[1].record.stages[0].members[1];
    held.slots.insert(held.slots.begin(), 0);
    held.attempts.insert(held.attempts.begin(), 9);
    for (auto& done : s.log.committed)
      if (done.record.step == 1 && done.record.held.node_name == "s0-b") done.record.held = held;
  });
}

BOOST_AUTO_TEST_CASE(a_lost_slot_is_seen) {
  check_says("step 0, stage 1: slot 3 is counted nowhere", [](Story& s) {
    auto& held = s.log.closed[0].record.stages[1].members[1];
    held.slots.pop_back();
    held.attempts.pop_back();
  });
}

BOOST_AUTO_TEST_CASE(a_peer_that_held_something_else_is_seen) {
  check_says("step 0, stage 0: s0-a",
             [](Story& s) { s.log.committed[0].record.held.attempts[0] = 8; });
  check_says("held other slots or attempts", [](Story& s) {
    s.log.committed[0].record.held.slots = {0};
    s.log.committed[0].record.held.attempts = {9};
  });
}

BOOST_AUTO_TEST_CASE(a_commit_of_a_round_that_nobody_closed_is_seen) {
  check_says("committed round 77, which no coordinator closed",
             [](Story& s) { s.log.committed[0].record.round = 77; });
}

BOOST_AUTO_TEST_CASE(a_commit_of_a_stranger_is_seen) {
  check_says("was no member of the round",
             [](Story& s) { s.log.committed[0].record.held.peer = peer_of(0, 0, 5); });
}

BOOST_AUTO_TEST_CASE(a_step_applied_twice_is_seen) {
  check_says("committed round 2 twice", [](Story& s) {
    s.log.committed.push_back(s.log.committed[0]);
    s.log.committed.back().line = ++s.log.lines;
  });
}

BOOST_AUTO_TEST_CASE(another_average_than_the_decided_one_is_seen) {
  check_says("applied the average", [](Story& s) { s.log.committed[0].record.digest ^= 1; });
}

BOOST_AUTO_TEST_CASE(replicas_that_differ_are_seen) {
  check_says("step 1, stage 1: after it s1-b",
             [](Story& s) { s.log.committed.back().record.checksum ^= 1; });
}

BOOST_AUTO_TEST_CASE(a_wrong_divisor_is_seen) {
  check_says("divided by 6 samples, 8 are in it",
             [](Story& s) { s.log.closed[0].record.samples = 6; });
}

BOOST_AUTO_TEST_CASE(another_place_in_the_data_order_is_seen) {
  check_says("begins at sample 0 of the data order, not at 8",
             [](Story& s) { s.log.closed[1].record.first_sample = 0; });
}

BOOST_AUTO_TEST_CASE(old_parameters_are_for_delayed_updates_only) {
  auto delay = [](Story& s) { s.log.closed[1].record.computed_on = 0; };
  check_says("step 1: computed on the parameters after 0 updates", delay);
  BOOST_TEST(spoilt([&](Story& s) {
               delay(s);
               s.context.delayed_updates = true;
             }) == "");
}

BOOST_AUTO_TEST_CASE(a_missing_step_is_seen) {
  check_says("step 1 was never closed and committed", [](Story& s) {
    s.log.closed.pop_back();
    s.log.committed.resize(4);
  });
  check_says("step 1, stage 1: no peer committed the step",
             [](Story& s) { s.log.committed.resize(6); });
}

BOOST_AUTO_TEST_CASE(steps_beyond_the_missing_ones_are_seen) {
  check_says("step 2 to 4 were never", [](Story& s) { s.context.steps = 5; });
  check_says("step 1 was closed, the run ends before step 1",
             [](Story& s) { s.context.steps = 1; });
}

BOOST_AUTO_TEST_CASE(a_run_that_has_not_finished_may_end_anywhere) {
  Story story;
  story.tell();
  story.context.events.clear();
  story.context.steps = 9;
  story.log.committed.resize(6);
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(story.report().notes.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_skipped_slot_counts_nowhere_and_leaves_the_divisor) {
  Story story;
  story.commit_all(ClosedStep(story.close(0, 1, {2})));
  story.commit_all(ClosedStep(story.close(1, 2)));
  story.event(records::RunFinished{});
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(story.report().totals.samples == 14u);
  BOOST_TEST((story.report().recorded.at(0).skipped == std::set<uint32_t>{2}));
  story.log.closed[0].record.skipped = {1};
  BOOST_TEST(contains(story.violation(), "slot 1 is skipped but counted at s0-a"));
  BOOST_TEST(contains(story.violation(), "slot 2 is counted nowhere"));
}

BOOST_AUTO_TEST_CASE(a_closing_that_nobody_committed_does_not_count) {
  Story story;
  story.close(0, 1);
  story.commit_all(ClosedStep(story.close(0, 2)));
  story.commit_all(ClosedStep(story.close(1, 3)));
  story.event(records::RunFinished{});
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(story.report().totals.undone == 1u);
}

BOOST_AUTO_TEST_CASE(going_back_needs_a_recovery_that_says_so) {
  Story story;
  story.commit_all(ClosedStep(story.close(0, 1)));
  const ClosedStep lost = story.close(1, 2);  // stage 1 dies before it commits
  story.commit(lost, 0, 0, 55);
  story.commit(lost, 0, 1, 55);
  const ClosedStep first = story.log.closed[0].record;
  for (int replica : {0, 1}) {
    story.load(0, replica, 1, Story::checksum_after(first, 0), "own_snapshot");
    story.load(1, replica, 1, Story::checksum_after(first, 1), "own_snapshot");
  }
  Story silent = story, last_of_a_reign = story, same = story;
  story.event(records::Recovered{}, 1);
  last_of_a_reign.event(records::ConfigurationHolds{2, 2, {}, {}, /*gone_back=*/true}, 1);
  same.event(records::ConfigurationHolds{2, 2, {}, {}}, 1);
  for (Story* s : {&story, &silent, &last_of_a_reign, &same}) {
    s->commit_all(ClosedStep(s->close(1, 3)));
    s->event(records::RunFinished{});
  }
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(last_of_a_reign.violation() == "");
  BOOST_TEST(same.violation() == silent.violation());
  BOOST_TEST(story.report().totals.given_up == 1u);
  BOOST_TEST(story.report().checksums.at({0, 2}) == 6001u);
  BOOST_TEST(silent.violation() ==
             "the swarm went back from step 1 to step 1 and no `recovered` "
             "event says so");
}

BOOST_AUTO_TEST_CASE(terms_that_start_again_do_not_mix_up_the_order) {
  Story story;
  story.event(records::CoordinatorActive{1});
  story.time += 6;
  ClosedStep& lost = story.close(0, 9);  // everybody is killed before the first snapshot
  story.log.closed.back().node = "n";
  story.commit_all(ClosedStep(lost));
  story.time += 10;
  story.event(records::CoordinatorActive{1});
  story.event(records::Recovered{}, 0);
  story.time += 6;
  for (uint32_t stage = 0; stage < kStages; ++stage)
    for (int replica : {0, 1}) story.load(stage, replica, 0, 7 + stage, "own_snapshot");
  for (uint64_t step : {0, 1}) {
    ClosedStep& closed = story.close(step, 1 + step);
    story.log.closed.back().node = "n";
    story.commit_all(ClosedStep(closed));
  }
  story.event(records::RunFinished{});
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(story.report().totals.given_up == 1u);
}

// One that waits in a minority has taken office before the one whose work it goes on from later.
BOOST_AUTO_TEST_CASE(configurations_tell_the_order_not_who_took_office_first) {
  Story story;
  context_of_two(story);
  for (const auto& [step, node, term] :
       std::vector<std::tuple<uint64_t, std::string, uint64_t>>{{0, "m", 3}, {1, "n", 2}}) {
    ClosedStep& closed = story.close(step, 1 + step);
    closed.term = term;
    closed.configuration = 1 + step;
    story.log.closed.back().node = node;
    story.commit_all(ClosedStep(closed));
  }
  story.event(records::RunFinished{});
  BOOST_TEST(story.violation() == "");
}

BOOST_AUTO_TEST_CASE(a_peer_that_keeps_a_given_up_state_is_seen) {
  Story story;
  story.context.steps = 3;
  story.commit_all(ClosedStep(story.close(0, 1)));
  const ClosedStep lost = story.close(1, 2);
  story.commit(lost, 0, 0, 55);
  story.event(records::Recovered{}, 1);
  const ClosedStep again = story.close(1, 3);
  story.commit(again, 0, 1, 6001);
  story.commit(again, 1, 0, 7001);
  story.commit(again, 1, 1, 7001);
  story.commit_all(ClosedStep(story.close(2, 4)));
  story.event(records::RunFinished{});
  BOOST_TEST(contains(story.violation(), "went on from a state that the swarm had given up"));
  story.load(0, 0, 2, 55,
             "own_snapshot");  // the same through a snapshot; after the commit: no harm
  BOOST_TEST(story.report().violations.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_peer_goes_back_with_a_load_only) {
  check_says("committed while its state was that of step 1",
             [](Story& s) { s.log.committed[4].record = s.log.committed[0].record; });
  check_says("never said where its state is from", [](Story& s) { s.log.loaded.pop_back(); });
}

BOOST_AUTO_TEST_CASE(a_state_loaded_is_one_that_replicas_reached) {
  Story story;
  story.tell();
  const ClosedStep last = story.log.closed[1].record;
  story.load(0, 1, 2, Story::checksum_after(last, 0), "neighbour");
  BOOST_TEST(story.violation() == "");
  story.load(0, 1, 2, 3, "neighbour");
  BOOST_TEST(contains(story.violation(), "loaded 0000000000000003 from neighbour, replicas have"));
  story.log.loaded.back().record.step = 9;
  BOOST_TEST(contains(story.violation(), "which no peer ever reached"));
}

BOOST_AUTO_TEST_CASE(the_same_round_closed_with_other_slots_is_seen) {
  check_says("was closed twice with different content", [](Story& s) {
    s.log.closed.push_back(s.log.closed[0]);
    s.log.closed.back().record.stages[0].members[0].attempts[0] = 1;
  });
  BOOST_TEST(spoilt([](Story& s) { s.log.closed.push_back(s.log.closed[0]); }) == "");
}

BOOST_AUTO_TEST_CASE(histories_that_lead_on_from_one_another_pass) {
  BOOST_TEST(spoilt(name_histories) == "");
  BOOST_TEST(spoilt([](Story& s) {  // one that does not know where its state is from
               name_histories(s);
               s.log.committed[0].record.history = 0;
             }) == "");
}

BOOST_AUTO_TEST_CASE(a_commit_of_another_history_than_was_decided_is_seen) {
  check_says("names the history 0000000000000001, decided was", [](Story& s) {
    name_histories(s);
    s.log.committed.back().record.history = 1;
  });
}

BOOST_AUTO_TEST_CASE(a_history_that_does_not_follow_from_the_peer_s_own_is_seen) {
  check_says("which does not follow from its own", [](Story& s) {
    name_histories(s);
    s.log.closed.back().record.configuration = 4;
  });
  check_says("which does not follow from its own, 0000000000000005", [](Story& s) {
    name_histories(s);
    s.log.loaded[0].record.history = 5;
  });
}

BOOST_AUTO_TEST_CASE(numbers_beyond_all_bounds_are_refused_at_once) {
  check_says("are not the batch of 8",
             [](Story& s) { s.log.closed[0].record.slots = 4000000000u; });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(AuditLogTest)

const char* const kCommitted =
    R"({"kind":"committed","time":1.5,"peer":"0123456789abcdef0123456789abcdef/stage.0",)"
    R"("node":"a","slots":[0,1],"attempts":[3,1099511627780],"step":5,"stage":0,"round":4294967297,)"
    R"("digest":"00000000000000ff","checksum":"fedcba9876543210"})";

BOOST_AUTO_TEST_CASE(a_line_reads_back) {
  AuditLog log;
  BOOST_TEST(add_audit_line(log, kCommitted).ok());
  const auto& done = log.committed.at(0).record;
  BOOST_TEST(done.checksum == 0xfedcba9876543210u);
  BOOST_TEST(done.history == 0u);  // lines of before name none
  BOOST_TEST(done.round == 4294967297u);
  BOOST_TEST(done.held.peer.actor == "stage.0");
  BOOST_TEST((done.held.attempts == std::vector<uint64_t>{3, 1099511627780u}));
  BOOST_TEST(add_audit_line(log, R"({"kind":"later","x":1})").ok());
  BOOST_TEST(log.unknown == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_peer_brought_into_a_rounding_round_reads_back) {
  Story story;
  ClosedStep closed = story.close(0, 1);
  AuditLog log;
  BOOST_TEST(add_audit_line(log, to_json(records::AuditLine{closed})).ok());
  BOOST_TEST(!log.closed.at(0).record.stages[0].members[0].brought.has_value());
  closed.stages[0].members[0].brought = records::BroughtIn{{1, 0}, true};
  closed.stages[0].part_weights = {700, 324};
  const std::string line = to_json(records::AuditLine{closed});
  BOOST_TEST(contains(line, R"("brought":{"order":[1,0],"gave_back":true})"), line);
  BOOST_TEST(contains(line, R"("part_weights":[700,324])"), line);
  BOOST_TEST(add_audit_line(log, line).ok());
  const auto& back = log.closed.at(1).record.stages[0];
  BOOST_REQUIRE(back.members[0].brought.has_value());
  BOOST_TEST((back.members[0].brought->order == std::vector<uint32_t>{1, 0}));
  BOOST_TEST(back.members[0].brought->gave_back);
  BOOST_TEST((*back.part_weights == std::vector<uint32_t>{700, 324}));
}

BOOST_AUTO_TEST_CASE(a_wrong_line_says_what_is_wrong) {
  auto why = [](std::string from, const std::string& to) {
    std::string line = kCommitted;
    line.replace(line.find(from), from.size(), to);
    AuditLog log;
    const Status added = add_audit_line(log, line);
    return added ? std::string() : added.error().detail;
  };
  BOOST_TEST(why("\"step\":5", "\"step\":-5") == "`step` is no whole number in its range");
  BOOST_TEST(why("\"stage\":0,", "") == "has no `stage`");
  BOOST_TEST(why("[3,1099511627780]", "[3]") == "`slots` and `attempts` differ in length");
  BOOST_TEST(why("[3,1099511627780]", "[3,{}]") == "`attempts` is no whole number in its range");
  BOOST_TEST(why("00ff", "00f") == "`digest` is not 16 hex digits");
  BOOST_TEST(why("\"step\"", "\"history\":7,\"step\"") == "`history` is not 16 hex digits");
  BOOST_TEST(why("/stage.0", "") == "`peer` is not NODE_ID/ACTOR");
  BOOST_TEST(why("{", "") == "is no JSON object");
}

BOOST_AUTO_TEST_CASE(the_report_for_scripts_has_the_verdict) {
  Story story;
  story.tell();
  BOOST_TEST(contains(audit_json(story.report()), "\"passed\": true"));
  BOOST_TEST(contains(audit_text(story.report(), 5), "exact: every sample"));
  story.log.closed[0].record.samples = 6;
  BOOST_TEST(contains(audit_json(story.report()), "\"passed\": false"));
  BOOST_TEST(contains(audit_text(story.report(), 0), "... and 1 more\nNOT EXACT: 1 violations"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
