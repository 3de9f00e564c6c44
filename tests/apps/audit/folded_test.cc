#include "apps/audit/folded.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "apps/audit/audit_run.h"
#include "records/audit_fold.h"
#include "tests/apps/audit/story.h"

namespace swarm::launch {
namespace {

/// The story as it is when each node's lines before its first one of step `ends` were folded.
Story folded(const Story& story, const std::map<std::string, uint64_t>& ends) {
  Story out = story;
  out.log = {};
  std::map<std::string, records::AuditFold> folds;
  for (const auto& [node, end] : ends) folds.emplace(node, story.context.rules());
  std::set<std::string> passed;                   // nodes of which nothing more is folded
  std::map<size_t, std::function<void()>> lines;  // in their order
  const auto add = [&](const auto& from, auto& to, auto node_of) {
    for (const auto& line : from)
      lines[line.line] = [&, line, node_of, &to = to] {
        const std::string node = node_of(line.record);
        const auto end = ends.find(node);
        if (end == ends.end() || line.record.step >= end->second) passed.insert(node);
        if (passed.count(node) > 0) return to.push_back(line);
        const records::AuditLine one{line.record, line.time_s, node};
        BOOST_REQUIRE(folds.at(node).take(to_json(one)).ok());
      };
  };
  add(story.log.closed, out.log.closed, [](const auto&) { return std::string("coordinator"); });
  add(story.log.committed, out.log.committed, [](const auto& done) { return done.held.node_name; });
  add(story.log.loaded, out.log.loaded, [](const auto& load) { return load.node_name; });
  for (const auto& [number, take] : lines) take();
  for (auto& [node, fold] : folds) out.log.folded.push_back({fold.result(1), story.time, 0, node});
  return out;
}

BOOST_AUTO_TEST_SUITE(FoldedTest)

BOOST_AUTO_TEST_CASE(files_folded_at_different_steps_audit_well_together) {
  Story story;
  story.context.steps = 10;
  for (uint64_t step = 0; step < 10; ++step)
    story.commit_all(ClosedStep(story.close(step, 1 + step)));
  story.event(records::RunFinished{});
  name_histories(story);
  BOOST_TEST(story.violation() == "");
  const std::map<std::string, uint64_t> ends = {
      {"coordinator", 4}, {"s0-a", 6}, {"s0-b", 2}, {"s1-b", 3}};
  auto some = folded(story, ends);
  BOOST_TEST(some.violation() == "");
  const auto report = some.report();
  BOOST_TEST(report.totals.folded == 6u);
  BOOST_TEST(report.totals.steps == 4u);
  BOOST_TEST(contains(audit_text(report, 5), "s0-a: steps 0 to 5: verified when they were folded"));
  BOOST_TEST(contains(audit_text(report, 5), "the check begins at step 6"));

  // What goes on from there is checked as ever.
  auto wrong = some;
  for (auto& line : wrong.log.committed)
    if (line.record.step == 8 && line.record.held.node_name == "s0-b") ++line.record.checksum;
  BOOST_TEST(contains(wrong.violation(), "step 8, stage 0: after it s0-"));
  wrong = some;
  for (auto& fold : wrong.log.folded)
    if (fold.node == "s0-a") ++fold.record.peers.at(0).checksum;
  BOOST_TEST(contains(wrong.violation(), "step 6, stage 0"));
  wrong = some;
  for (auto& fold : wrong.log.folded)
    if (fold.node == "s0-a") --fold.record.peers.at(0).step;
  BOOST_TEST(contains(wrong.violation(), "committed while its state was that of step 5"));
  wrong = some;
  wrong.log.closed.pop_back();
  BOOST_TEST(contains(wrong.violation(), "which no coordinator closed"));
}

BOOST_AUTO_TEST_CASE(a_violation_that_was_folded_is_told) {
  Story story;
  story.tell();
  story.log.closed[0].record.samples = 6;
  const auto some = folded(story, {{"coordinator", 1}});
  BOOST_TEST(contains(some.violation(),
                      "coordinator, found when its lines were folded: step 0: the "
                      "sum was divided by 6 samples"));
}

BOOST_AUTO_TEST_CASE(earlier_lines_that_no_fold_has_judged_are_checked) {
  Story story;
  story.context.steps = 10;
  for (uint64_t step = 0; step < 10; ++step)
    story.commit_all(ClosedStep(story.close(step, 1 + step)));
  story.event(records::RunFinished{});
  const auto some = folded(story, {{"s0-a", 6}});
  BOOST_TEST(some.violation() == "");
  auto wrong = some;
  wrong.log.closed[2].record.samples = 6;
  BOOST_TEST(contains(wrong.violation(), "step 2: the sum was divided by 6 samples"));
  wrong = some;
  wrong.log.closed[3].record.stages[1].members[1].slots = {2};
  BOOST_TEST(contains(wrong.violation(), "step 3, stage 1: slot 3 is counted nowhere"));
  wrong = some;
  for (auto& line : wrong.log.committed)
    if (line.record.step == 4 && line.record.held.node_name == "s1-b") ++line.record.digest;
  BOOST_TEST(contains(wrong.violation(), "step 4, stage 1: s1-b"));
  BOOST_TEST(contains(wrong.violation(), "applied the average"));
}

/// Five steps, of which a recovery gives up the last three; s1-a dies, and goes on in a life of its own.
Story died_before_a_recovery() {
  Story story;
  story.context.steps = 6;
  for (uint64_t step = 0; step < 5; ++step)
    story.commit_all(ClosedStep(story.close(step, 1 + step)));
  story.event(records::Recovered{}, 2);
  story.time += 10;
  const size_t before = story.log.lines;
  for (uint32_t stage = 0; stage < kStages; ++stage)
    for (int replica = 0; replica < 2; ++replica)
      story.load(stage, replica, 2, Story::checksum_after(story.log.closed[1].record, stage),
                 "own_snapshot");
  for (uint64_t step = 2; step < 6; ++step)
    story.commit_all(ClosedStep(story.close(step, 11 + step)));
  story.event(records::RunFinished{});
  const auto rename = [](PeerId& peer) {
    if (peer == peer_of(1, 0)) peer = peer_of(1, 0, 1);
  };
  for (auto& line : story.log.closed)
    if (line.line > before)
      for (auto& stage : line.record.stages)
        for (auto& member : stage.members) rename(member.peer);
  for (auto& line : story.log.committed)
    if (line.line > before) rename(line.record.held.peer);
  for (auto& line : story.log.loaded)
    if (line.line > before) rename(line.record.peer);
  return story;
}

BOOST_AUTO_TEST_CASE(a_state_that_was_given_up_where_a_fold_ends_is_no_violation) {
  Story story = died_before_a_recovery();
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(folded(story, {{"s1-b", 5}}).violation() == "");
  // Of one history there is one state.
  for (auto& line : story.log.committed)
    if (line.record.step == 4 && line.record.stage == 1) line.record.history = 7;
  BOOST_TEST(contains(folded(story, {{"s1-b", 5}}).violation(), "from its lines before that, "));
}

BOOST_AUTO_TEST_CASE(who_went_back_from_there_had_a_state_that_others_may_have_taken) {
  Story story = died_before_a_recovery();
  // s0-b was at step 4 when it took s0-a's state; then both went back.
  auto& commits = story.log.committed;
  const auto last = std::find_if(commits.begin(), commits.end(), [](const auto& line) {
    return line.record.step == 4 && line.record.held.node_name == "s0-b";
  });
  auto& loads = story.log.loaded;
  const auto& done = last->record;
  const Recorded<records::LoadedState> load{
      {0, done.held.peer, "s0-b", 5, done.checksum, "neighbours"}, last->time_s, last->line};
  loads.insert(std::find_if(loads.begin(), loads.end(),
                            [](const auto& line) { return line.record.step == 2; }),
               load);
  commits.erase(last);
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(folded(story, {{"s1-b", 5}}).violation() == "");
}

BOOST_AUTO_TEST_CASE(a_recovery_across_a_fold_is_followed_and_its_event_may_be_the_audit_s_own) {
  Story story;
  story.context.steps = 6;
  for (uint64_t step = 0; step < 5; ++step)
    story.commit_all(ClosedStep(story.close(step, 1 + step)));
  story.event(records::Recovered{}, 2);
  story.time += 10;
  for (uint32_t stage = 0; stage < kStages; ++stage)
    for (int replica = 0; replica < 2; ++replica)
      story.load(stage, replica, 2, Story::checksum_after(story.log.closed[1].record, stage),
                 "own_snapshot");
  for (uint64_t step = 2; step < 6; ++step)
    story.commit_all(ClosedStep(story.close(step, 11 + step)));
  std::swap(story.log.events, story.context.events);
  story.event(records::RunFinished{});
  BOOST_TEST(story.violation() == "");
  Story some = folded(story, {{"s1-b", 4}});
  some.log.events = story.log.events;
  BOOST_TEST(some.violation() == "");
  BOOST_TEST(some.report().totals.folded == 4u);
  BOOST_TEST(some.report().totals.given_up == 1u);
  some.log.events.clear();
  BOOST_TEST(contains(some.violation(), "went back"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::launch
