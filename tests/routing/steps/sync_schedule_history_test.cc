// Synchronous steps and the history of what they lead to.
#include <boost/test/unit_test.hpp>

#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using World = ScheduleWorld<SyncSchedule>;

/// The history that closing step 0 leads to. `slot`: left out, as two peers found it not finite.
History after_step_0(History before, std::optional<uint32_t> slot = {}, uint64_t digest = 5) {
  World world;
  world.history = before;
  world.open(0);
  Orders filled;
  for (int tries = 0; tries < 2; ++tries)
    for (const auto& [lease, avoid] : world.schedule.lease(peer(50, "trainer"), 64, 1e9).slots) {
      if (!slot || lease.slot != Slot(*slot)) {
        World::append(filled, world.carry(Step(0), lease));
        continue;
      }
      SlotReport report;
      report.what = SlotReport::What::kNonFinite;
      report.slot = lease.slot;
      report.attempt = lease.attempt;
      report.where = {Stage(1), peer(tries == 0 ? 3 : 4), false, Attempt()};
      World::append(filled, world.schedule.slot_reported(report, world.now).value());
    }
  Orders averaged;
  for (const auto& close : all_of<orders::CloseStep>(filled))
    for (const auto& member : close.members)
      World::append(averaged, world.closed(close, member.peer, digest));
  const auto commits = all_of<orders::CommitStep>(averaged);
  BOOST_REQUIRE(commits.size() == 4u);
  for (const auto& commit : commits) BOOST_TEST(commit.after == commits[0].after);
  BOOST_TEST(all_of<orders::WriteAudit>(averaged).at(0).after == commits[0].after);
  BOOST_TEST(world.schedule.frame().history == commits[0].after);
  return commits[0].after;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SyncScheduleHistory)

BOOST_AUTO_TEST_CASE(a_commit_names_the_history_that_it_makes) {
  const History after = after_step_0(History());
  BOOST_TEST(after != History());
  BOOST_TEST(after == after_step_0(History()));
  BOOST_TEST(after != after_step_0(History(), 1));
  BOOST_TEST(after_step_0(History(), 1) != after_step_0(History(), 2));
  BOOST_TEST(after != after_step_0(History(), {}, /*digest=*/6));
  BOOST_TEST(after != after_step_0(History(77)));  // that the gathering went on from
}

BOOST_AUTO_TEST_CASE(every_commit_goes_on_from_the_one_before) {
  World world;
  world.open(0);
  Orders orders = world.close_all(world.carry_all());
  const History first = all_of<orders::CommitStep>(orders).at(0).after;
  Orders full = world.commit_all(orders);
  BOOST_TEST(world.facts(1).history == first);
  World::append(full, world.carry_all());
  orders = world.close_all(full);
  const CommitFacts second{Step(1), {5, 5}, Step(1), {}, 0};
  BOOST_TEST(all_of<orders::CommitStep>(orders).at(0).after == history_after(first, second));
}

// Told before anything is committed: a member that dies then has told it all the same.
BOOST_AUTO_TEST_CASE(the_audit_has_how_the_numbers_of_members_went_in) {
  World world;
  world.open(0);
  world.brought[peer(1)] = {{Slot(1), Slot(0)}, true};
  const auto line = all_of<orders::WriteAudit>(world.close_all(world.carry_all())).at(0);
  BOOST_REQUIRE(line.stages[0].brought.size() == 1u);
  const BroughtIn& told = line.stages[0].brought.at(peer(1));
  BOOST_TEST((told.order == std::vector<Slot>{Slot(1), Slot(0)}));
  BOOST_TEST(told.gave_back);
  BOOST_TEST(line.stages[0].part_weights.size() == line.stages[0].members.size());
  BOOST_TEST(line.stages[1].brought.empty());
}

BOOST_AUTO_TEST_CASE(who_has_the_open_step_of_another_history_fetches_it) {
  World world;
  world.history = History(1);
  world.open(0);
  world.facts(2).serving = false;
  for (const auto& [own, kind] : {std::pair(2, Verdict::Kind::kFetch),
                                  {1, Verdict::Kind::kServe},
                                  {0, Verdict::Kind::kServe}}) {
    Orders orders;
    world.facts(2).serving = false;
    world.facts(2).history = History(static_cast<uint64_t>(own));
    BOOST_TEST((world.schedule.admit(peer(2), orders, world.now).kind == kind));
  }
}

// What stages had of the history that was given up counted as theirs: the next snapshot was ordered before
// the one under way was durable in all, and the newest common one was pruned.
BOOST_AUTO_TEST_CASE(snapshots_of_a_history_that_was_given_up_do_not_count) {
  World world;
  for (auto& [id, peer] : world.roster.peers()) peer.snapshots = {Step(8)};
  world.all_at(3);
  world.open(3);
  for (auto& [id, peer] : world.roster.peers()) BOOST_TEST(peer.snapshots.empty());
  world.commit_all(world.close_all(world.carry_all()));  // to 4, which is saved
  for (int step = 5; step <= 6; ++step) {
    const auto last = world.close_all(world.carry_all());
    BOOST_TEST(!all_of<orders::CommitStep>(last)[0].save);
    world.commit_all(last);
  }
}

BOOST_AUTO_TEST_SUITE_END()
