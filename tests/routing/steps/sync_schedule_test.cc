#include "routing/steps/sync_schedule.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

using World = ScheduleWorld<SyncSchedule>;

/// What a peer says that holds so many slots.
std::vector<std::pair<Slot, Attempt>> first_slots(uint32_t count) {
  std::vector<std::pair<Slot, Attempt>> held;
  for (Slot slot; slot.value() < count; ++slot) held.emplace_back(slot, Attempt(11));
  return held;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SynchronousSteps)

BOOST_AUTO_TEST_CASE(a_step_is_leased_averaged_and_committed_and_the_next_one_is_open) {
  World world;
  world.open(0);
  const auto filled = world.carry_all();
  BOOST_TEST(all_of<orders::CloseStep>(filled).size() == 2u);
  const auto close = close_of(filled, 0);
  BOOST_TEST(close.samples == 8u);
  BOOST_TEST(close.members.size() == 2u);
  BOOST_TEST(close.members[0].slots.size() == 4u);
  BOOST_TEST(close.members[1].slots.empty());
  const auto averaged = world.close_all(filled);
  const auto commits = all_of<orders::CommitStep>(averaged);
  BOOST_REQUIRE(commits.size() == 4u);
  BOOST_TEST(commits[0].step == Step(0));
  BOOST_TEST(commits[0].gradient_norm == std::sqrt(18.0));
  BOOST_TEST(all_of<orders::WriteMetrics>(averaged).size() == 1u);
  BOOST_TEST(all_of<orders::WriteAudit>(averaged).size() == 1u);
  BOOST_TEST(world.schedule.frame().open.step == Step(1));
  const auto done = world.commit_all(averaged);
  BOOST_TEST(noted<facts::ReplicasCompared>(done).size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_audit_is_written_before_any_commit) {
  World world;
  world.open(0);
  bool audited = false;
  for (const Order& order : world.close_all(world.carry_all())) {
    audited |= std::holds_alternative<orders::WriteAudit>(order);
    if (std::holds_alternative<orders::CommitStep>(order)) BOOST_TEST(audited);
  }
}

BOOST_AUTO_TEST_CASE(a_step_is_not_closed_while_a_member_still_applies_the_one_before) {
  World world;
  world.open(0);
  const auto committed = world.close_all(world.carry_all());
  BOOST_TEST(!has<orders::CloseStep>(world.carry_all()));
  BOOST_TEST(all_of<orders::CloseStep>(world.commit_all(committed)).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_peer_that_came_back_with_its_share_fills_its_stage_and_the_round_begins) {
  World world;
  PeerFacts& holder = world.facts(1);
  world.facts(3).held = first_slots(4);
  holder.serving = false;
  const auto opened = world.open(0);
  BOOST_TEST(all_of<orders::CloseStep>(opened).size() == 1u);  // stage 1 is full as reported
  holder.held = first_slots(4);
  Orders orders;
  const auto verdict = world.schedule.admit(peer(1), orders, world.now);
  BOOST_TEST((verdict.kind == Verdict::Kind::kServe));
  BOOST_TEST(verdict.keep_held);
  BOOST_TEST(close_of(world.tick(), 0).members.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_successor_goes_on_with_what_peers_hold) {
  World world;
  world.facts(1).held = first_slots(2);
  world.open(0);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  BOOST_TEST(leases.step_waits);
  BOOST_REQUIRE(leases.slots.size() == 4u);
  BOOST_TEST(leases.slots[0].lease.needs == 2u);  // stage 1 only
  BOOST_TEST(leases.slots[2].lease.needs == 3u);
}

BOOST_AUTO_TEST_CASE(a_lost_peer_s_slots_are_computed_again) {
  World world;
  world.open(0);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 2, 1e9);
  for (const auto& slot : leases.slots) world.carry(Step(0), slot.lease);
  const auto recompute = noted<facts::Recompute>(world.lose(1));
  BOOST_REQUIRE(recompute.size() == 1u);
  BOOST_TEST(recompute[0].slots == 2u);
  BOOST_TEST(world.schedule.lease(peer(50, "trainer"), 64, 1e9).slots.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_peer_lost_after_its_stage_has_averaged_costs_nothing) {
  World world;
  world.open(0);
  const auto filled = world.carry_all();
  const auto close = close_of(filled, 0);
  for (uint32_t n : {1u, 2u}) world.closed(close, peer(n));
  BOOST_TEST(noted<facts::Recompute>(world.lose(1)).empty());
}

BOOST_AUTO_TEST_CASE(a_stage_without_peers_makes_the_swarm_gather) {
  World world;
  world.open(0);
  world.lose(1);
  BOOST_TEST(gather_reason(world.lose(2)) == "stage 0 has lost all its peers");
  BOOST_TEST((world.schedule.frame().phase == Frame::Phase::kClosed));
  BOOST_TEST(world.tick().empty());
}

BOOST_AUTO_TEST_CASE(a_round_that_a_member_left_is_abandoned_and_formed_anew_without_it) {
  World world;
  world.open(0);
  const auto close = close_of(world.carry_all(), 0);
  const auto judged = world.close_failed(close, peer(2), ErrorCode::kLinkLost);
  BOOST_TEST(all_of<orders::AbandonRound>(judged).size() == 1u);
  BOOST_TEST(has<orders::Later>(judged));
  const auto again = world.schedule.resume(orders::Later{}, world.now);
  BOOST_TEST(close_of(again, 0).round != close.round);
}

BOOST_AUTO_TEST_CASE(a_member_that_dropped_its_sum_in_a_round_given_up_counts_no_more) {
  World world;
  world.open(0);
  const auto close = close_of(world.carry_all(), 0);
  world.close_failed(close, peer(2), ErrorCode::kLinkLost);  // the round is given up
  CloseAnswer late;
  late.holds_more = true;
  world.schedule.close_answered({Stage(0), close.round, Step(0), peer(1)}, late, world.now);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  BOOST_TEST(leases.slots.size() == 4u);  // the ledger does not go on to count them
}

BOOST_AUTO_TEST_CASE(averages_that_differ_are_said_and_never_committed) {
  World world;
  world.open(0);
  const auto close = close_of(world.carry_all(), 0);
  world.closed(close, peer(1), 5);
  const auto orders = world.closed(close, peer(2), 6);
  BOOST_REQUIRE(noted<facts::AveragesDiffer>(orders).size() == 1u);
  BOOST_TEST(noted<facts::AveragesDiffer>(orders)[0].peer == peer(2));
  BOOST_TEST(!has<orders::CommitStep>(orders));
}

BOOST_AUTO_TEST_CASE(who_joined_after_the_round_began_has_no_average_and_is_sent_back) {
  World world;
  world.open(0);
  const auto filled = world.carry_all();
  world.add(9).stage = Stage(0);
  const auto averaged = world.close_all(filled);
  BOOST_TEST(all_of<orders::CommitStep>(averaged).size() == 4u);
  const auto asked = all_of<orders::AskToRegister>(averaged);
  BOOST_REQUIRE(asked.size() == 1u);
  BOOST_TEST(asked[0].peer == peer(9));
}

namespace {

/// Peer 9 comes into stage 0 while a round of it is under way, once a step, and is sent back.
struct LateWorld : World {
  LateWorld() {
    open(0);
    add(9).stage = Stage(0);
    facts(9).serving = false;
  }
  /// A step of 900 ms and a round that takes 100 ms. True if peer 9 was sent back.
  bool step_with_a_latecomer() {
    const auto filled = wait_for_round();
    facts(9).serving = true;
    now += 100ms;
    const auto averaged = close_all(filled);
    commit_all(averaged);
    return !facts(9).serving;
  }
  /// All is carried at once; the round begins when it may. Sets `waited`.
  Orders wait_for_round() {
    now += 900ms;
    Orders filled = carry_all();
    for (waited = 0ms; all_of<orders::CloseStep>(filled).size() < 2 && waited < 10s;
         waited += 100ms)
      append(filled, tick());
    return filled;
  }
  Time waited{};
};

}  // namespace

// A step took less to fill than the mean to come: it came in during every round, and never took part.
BOOST_FIXTURE_TEST_CASE(who_comes_in_during_round_after_round_is_waited_for, LateWorld) {
  BOOST_TEST(step_with_a_latecomer());
  BOOST_TEST((waited == 0ms));
  BOOST_TEST(step_with_a_latecomer());
  now += 900ms;
  const auto filled = carry_all();
  BOOST_TEST(all_of<orders::CloseStep>(filled).size() == 1u);  // stage 1 waits for nobody
  facts(9).serving = true;
  const auto round = tick();
  BOOST_TEST(close_of(round, 0).members.size() == 3u);
  close_all(filled);
  BOOST_TEST(all_of<orders::CommitStep>(close_all(round)).size() == 5u);
}

BOOST_FIXTURE_TEST_CASE(nobody_waits_longer_than_a_step_took_and_ever_less_often, LateWorld) {
  int waits = 0;
  for (int step = 0; step < 9; ++step) {
    BOOST_TEST(step_with_a_latecomer());
    BOOST_TEST((waited <= 1s));
    waits += waited > 0ms ? 1 : 0;
  }
  BOOST_TEST(waits == 2);  // after 2 and after 4 more
}

BOOST_FIXTURE_TEST_CASE(who_left_is_not_waited_for, LateWorld) {
  step_with_a_latecomer();
  step_with_a_latecomer();
  roster.remove(peer(9));
  BOOST_TEST(all_of<orders::CloseStep>(carry_all()).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_failed_commit_is_said_and_its_peer_serves_no_more) {
  World world;
  world.open(0);
  const auto averaged = world.close_all(world.carry_all());
  const auto failed =
      world.schedule.commit_answered(peer(1), Error{ErrorCode::kIo, "disk"}, world.now);
  BOOST_TEST(noted<facts::CommitFailed>(failed).size() == 1u);
  BOOST_TEST(!world.facts(1).serving);
  BOOST_TEST(gather_reason(world.schedule.commit_answered(
                 peer(2), Error{ErrorCode::kIo, "disk"}, world.now)) == "stage 0 could not commit");
}

BOOST_AUTO_TEST_CASE(a_peer_of_a_newer_term_ends_the_reign) {
  World world;
  world.open(0);
  const auto averaged = world.close_all(world.carry_all());
  BOOST_TEST(has<orders::StepDown>(world.schedule.commit_answered(
      peer(1), Error{ErrorCode::kStaleTerm, "a newer one"}, world.now)));
}

BOOST_AUTO_TEST_CASE(attempts_of_a_later_gathering_have_higher_numbers) {
  World world;
  world.open(0, 1);
  const auto first = world.schedule.lease(peer(50, "trainer"), 1, 1e9).slots[0].lease.attempt;
  world.schedule.close();
  world.open(0, 5'000);
  const auto later = world.schedule.lease(peer(50, "trainer"), 1, 1e9).slots[0].lease.attempt;
  BOOST_TEST(later > first);
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_not_finite_on_two_nodes_is_left_out_by_every_stage) {
  World world;
  world.open(0);
  auto leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  SlotReport report;
  report.what = SlotReport::What::kNonFinite;
  report.attempt = leases.slots[0].lease.attempt;
  report.where = {Stage(1), peer(3), false, Attempt()};
  BOOST_REQUIRE(world.schedule.slot_reported(report, world.now).ok());
  for (size_t i = 1; i < 4; ++i) world.carry(Step(0), leases.slots[i].lease);
  leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  BOOST_REQUIRE(leases.slots.size() == 1u);
  BOOST_TEST(leases.slots[0].avoid.size() == 1u);
  report.attempt = leases.slots[0].lease.attempt;
  report.where.peer = peer(4);
  auto skipped = world.schedule.slot_reported(report, world.now);
  BOOST_REQUIRE(skipped.ok());
  BOOST_TEST(noted<facts::SlotSkipped>(*skipped).size() == 1u);
  BOOST_TEST(close_of(*skipped, 0).samples == 6u);
}

BOOST_AUTO_TEST_CASE(a_step_whose_every_slot_is_skipped_is_said_once_and_never_closed) {
  World world;
  world.open(0);
  Orders all;
  for (int tries = 0; tries < 2; ++tries)
    for (const auto& slot : world.schedule.lease(peer(50, "trainer"), 64, 1e9).slots) {
      SlotReport report;
      report.what = SlotReport::What::kNonFinite;
      report.slot = slot.lease.slot;
      report.attempt = slot.lease.attempt;
      report.where = {Stage(1), peer(tries == 0 ? 3 : 4), false, Attempt()};
      auto orders = world.schedule.slot_reported(report, world.now);
      BOOST_REQUIRE(orders.ok());
      World::append(all, *orders);
    }
  World::append(all, world.tick());
  BOOST_TEST(noted<facts::Diverged>(all).size() == 1u);
  BOOST_TEST(!has<orders::CloseStep>(all));
}

BOOST_AUTO_TEST_CASE(a_report_of_another_step_is_refused_by_what_it_is) {
  World world;
  world.all_at(4);
  world.open(4);
  SlotReport report;
  report.step = Step(5);
  BOOST_TEST(world.schedule.slot_reported(report, world.now).code() == ErrorCode::kNotReady);
  report.step = Step(3);
  BOOST_TEST(world.schedule.slot_reported(report, world.now).code() == ErrorCode::kStaleStep);
}

BOOST_AUTO_TEST_CASE(a_commit_names_the_snapshot_that_is_not_to_be_pruned) {
  World world;
  world.open(0);
  for (uint32_t n : {1u, 2u}) world.facts(n).snapshots = {Step(0)};
  world.facts(3).snapshots = {Step(0)};
  for (const auto& commit : all_of<orders::CommitStep>(world.close_all(world.carry_all())))
    BOOST_TEST((commit.keep && commit.keep->step == Step(0)));
}

BOOST_AUTO_TEST_CASE(a_lease_that_nobody_delivers_is_free_again) {
  World world;
  world.open(0);
  const double deadline_s = std::chrono::duration<double>(world.now).count() + 1;
  world.schedule.lease(peer(50, "trainer"), 64, deadline_s);
  BOOST_TEST(noted<facts::LeaseExpired>(world.tick(2s)).size() == 4u);
  BOOST_TEST(world.schedule.lease(peer(51, "trainer"), 64, 1e9).slots.size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
