// Averages that are not finite, or not the same in all members.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

struct World : ScheduleWorld<SyncSchedule> {
  orders::CloseStep close(const Orders& orders) {
    for (const auto& one : all_of<orders::CloseStep>(orders))
      if (one.stage == Stage(0)) return one;
    BOOST_FAIL("no CloseStep of stage 0");
    return {};
  }
  Orders answer(const orders::CloseStep& close, uint32_t n, const CloseAnswer& answer) {
    return schedule.close_answered({close.stage, close.round, close.step, peer(n)}, answer, now);
  }
  /// `by` says that the numbers of the member at `place` are not finite.
  Orders blame(const orders::CloseStep& close, uint32_t by, uint32_t place) {
    CloseAnswer failed;
    RoundFailure& failure = failed.failed.emplace();
    failure.error = Error{ErrorCode::kCancelled, "not finite"};
    failure.not_finite.push_back(place);
    return answer(close, by, failed);
  }
  Verdict registers(uint32_t n) {
    Orders orders;
    return schedule.admit(peer(n), orders, now);
  }
  /// Everything again, as often as something is leased, until stage 0 is to be closed.
  orders::CloseStep again() {
    Orders all = tick(400ms);
    append(all, carry_all());
    return close(all);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(WrongAverages)

BOOST_AUTO_TEST_CASE(whose_numbers_are_not_finite_drops_them_and_they_are_computed_again) {
  World world;
  world.open(0);
  const auto close = world.close(world.carry_all());
  const auto refused = world.blame(close, 2, 0);
  BOOST_TEST(has<orders::AbandonRound>(refused));
  BOOST_TEST(!has<orders::CommitStep>(refused));
  const auto named = noted<facts::SumNotFinite>(refused);
  BOOST_REQUIRE(named.size() == 1u);
  BOOST_TEST(named[0].peer == peer(1));
  BOOST_TEST(named[0].by == peer(2));
  BOOST_TEST(named[0].slots == 4u);
  const auto asked = all_of<orders::AskToRegister>(refused);
  BOOST_REQUIRE(asked.size() == 1u);
  BOOST_TEST(asked[0].peer == peer(1));
  const auto verdict = world.registers(1);
  BOOST_TEST((verdict.kind == Verdict::Kind::kServe));
  BOOST_TEST(!verdict.keep_held);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  BOOST_REQUIRE(leases.slots.size() == 4u);
  BOOST_TEST(leases.slots[0].lease.needs == 1u);
  BOOST_REQUIRE(leases.slots[0].avoid.size() == 1u);
  BOOST_TEST(leases.slots[0].avoid[0].peer == peer(1));
  BOOST_TEST(world.registers(1).keep_held);  // once
}

BOOST_AUTO_TEST_CASE(what_comes_from_it_before_it_has_dropped_its_sum_does_not_count) {
  World world;
  world.open(0);
  world.blame(world.close(world.carry_all()), 2, 0);
  BOOST_TEST(
      has<orders::CloseStep>(world.carry_all()));  // by way of peer 1, which has not heard yet
  world.registers(1);
  BOOST_TEST(world.schedule.lease(peer(50, "trainer"), 64, 1e9).slots.size() == 4u);
}

BOOST_AUTO_TEST_CASE(slots_that_are_finite_nowhere_are_left_out_and_the_step_diverges) {
  World world;
  world.open(0);
  world.facts(2).serving = false;  // no other node
  auto close = world.close(world.carry_all());
  world.blame(close, 1, 0);
  world.registers(1);
  close = world.again();
  const auto skipped = world.blame(close, 1, 0);
  BOOST_TEST(noted<facts::SlotSkipped>(skipped).size() == 4u);
  BOOST_TEST(noted<facts::Diverged>(world.tick()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_norm_that_is_not_finite_is_never_committed) {
  World world;
  world.open(0);
  auto close = world.close(world.carry_all());
  const CloseAnswer wrong{false, std::numeric_limits<double>::quiet_NaN(), 5, {}, {}};
  world.answer(close, 1, wrong);
  const auto refused = world.answer(close, 2, wrong);
  BOOST_TEST(noted<facts::SumNotFinite>(refused).size() == 1u);
  BOOST_TEST(has<orders::AbandonRound>(refused));
  BOOST_TEST((world.schedule.round(Stage(0), close.round)->at == StageRound::At::kFilling));
}

BOOST_AUTO_TEST_CASE(norms_that_differ_are_not_committed_either) {
  World world;
  world.open(0);
  auto close = world.close(world.carry_all());
  world.answer(close, 1, {false, 9.0, 5, {}, {}});
  const auto orders = world.answer(close, 2, {false, 4.0, 5, {}, {}});
  BOOST_REQUIRE(noted<facts::AveragesDiffer>(orders).size() == 1u);
  BOOST_TEST(noted<facts::AveragesDiffer>(orders)[0].peer == peer(2));
}

// C.11: the first answer is no measure of the others.
BOOST_AUTO_TEST_CASE(a_wrong_first_answer_neither_blames_the_others_nor_blocks_its_stage) {
  World world;
  world.add(9).stage = Stage(0);
  world.open(0);
  auto close = world.close(world.carry_all());
  for (int round = 0; round < 2; ++round) {
    world.closed(close, peer(1), 66);
    world.closed(close, peer(2), 5);
    const auto orders = world.closed(close, peer(9), 5);
    const auto odd = noted<facts::AveragesDiffer>(orders);
    BOOST_REQUIRE(odd.size() == 1u);
    BOOST_TEST(odd[0].peer == peer(1));
    BOOST_TEST(noted<facts::PeerRests>(orders).size() == (round == 0 ? 0u : 1u));
    if (round == 0) close = world.again();
  }
  BOOST_TEST(!world.facts(1).serving);
  BOOST_TEST((world.registers(1).kind == Verdict::Kind::kFetch));  // it learns while it rests
  world.now += 400ms;
  const auto leases = world.schedule.lease(peer(50, "trainer"), 64, 1e9);
  BOOST_TEST(leases.slots.size() == 4u);  // what it held
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_is_refused_with_the_last_stage_named) {
  World world;
  world.open(0);
  const auto leases = world.schedule.lease(peer(50, "trainer"), 1, 1e9);
  BOOST_REQUIRE(leases.slots.size() == 1u);
  const auto& lease = leases.slots[0].lease;
  SlotReport report;
  report.slot = lease.slot;
  report.attempt = lease.attempt;
  report.loss_sum = std::numeric_limits<double>::infinity();
  report.samples = 2;
  report.route = {{Stage(0), peer(1), true, lease.attempt},
                  {Stage(1), peer(3), true, lease.attempt}};
  BOOST_TEST(world.schedule.slot_reported(report, world.now).ok());
  const auto second = world.schedule.lease(peer(50, "trainer"), 1, 1e9);
  BOOST_REQUIRE(second.slots.size() == 1u);
  BOOST_TEST(second.slots[0].lease.slot == lease.slot);
  BOOST_REQUIRE(second.slots[0].avoid.size() == 1u);
  BOOST_TEST(second.slots[0].avoid[0].peer == peer(3));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(WrongReplicas)

namespace {

/// All have averaged step 0 and applied it; peer 2 has other bits than peer 1.
Orders commit_with_another(World& world, bool changed_at_rest, uint32_t whose = 2) {
  world.open(0);
  Orders all;
  const auto commits = all_of<orders::CommitStep>(world.close_all(world.carry_all()));
  for (const auto& commit : commits) {
    CommitAnswer answer{commit.step + 1, 8, false};
    if (commit.peer == peer(2)) answer.checksum = 9;
    if (commit.peer == peer(whose)) answer.changed_at_rest = changed_at_rest;
    World::append(all, world.schedule.commit_answered(commit.peer, answer, world.now));
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_one_that_is_not_believed_is_named_and_fetches_at_once) {
  World world;
  const auto orders = commit_with_another(world, false);
  const auto replaced = noted<facts::ReplicaReplaced>(orders);
  BOOST_REQUIRE(replaced.size() == 1u);
  BOOST_TEST(replaced[0].replica.peer == peer(2));
  BOOST_TEST(replaced[0].replica.checksum == 9u);
  BOOST_TEST(replaced[0].right == 8u);
  const auto asked = all_of<orders::AskToRegister>(orders);
  BOOST_REQUIRE(asked.size() == 1u);
  BOOST_TEST(asked[0].peer == peer(2));
  BOOST_TEST(!world.facts(2).serving);
  world.facts(2).open_step = Step(1);
  const auto verdict = world.registers(2);
  BOOST_TEST((verdict.kind == Verdict::Kind::kFetch));
  BOOST_TEST((verdict.sources == std::vector<PeerId>{peer(1)}));
}

BOOST_AUTO_TEST_CASE(of_two_the_one_whose_state_changed_at_rest_goes) {
  World world;
  const auto replaced =
      noted<facts::ReplicaReplaced>(commit_with_another(world, true, /*whose=*/1));
  BOOST_REQUIRE(replaced.size() == 1u);
  BOOST_TEST(replaced[0].replica.peer == peer(1));
  BOOST_TEST(replaced[0].right == 9u);
}

// Whoever registers first is no measure of the others either.
BOOST_AUTO_TEST_CASE(a_gathering_does_not_begin_with_the_one_that_was_not_believed) {
  World world;
  commit_with_another(world, true, /*whose=*/1);
  for (uint32_t n : {1u, 2u}) world.facts(n).reported = true;
  BOOST_TEST(is_wrong(peer(1), world.roster));
  BOOST_TEST(!is_wrong(peer(2), world.roster));
  world.roster.remove(peer(2));  // nobody else has the stage: better than nothing
  BOOST_TEST(!is_wrong(peer(1), world.roster));
}

namespace {

/// All but peer 2 have applied step 0 before anybody could compare them: its registration, which was long on
/// its way, said that it is behind. `odd` has other bits than it had after its last update.
void apply_apart(World& world, uint32_t odd) {
  world.open(0);
  const auto commits = all_of<orders::CommitStep>(world.close_all(world.carry_all()));
  world.facts(2).serving = false;
  for (const auto& commit : commits) {
    CommitAnswer answer{commit.step + 1, 8, false};
    answer.history = commit.after;
    answer.changed_at_rest = commit.peer == peer(odd);
    if (commit.peer == peer(2)) answer.checksum = 9;
    world.schedule.commit_answered(commit.peer, answer, world.now);
  }
  world.facts(2).open_step = Step(1);
}

facts::ReplicaReplaced the_only_replaced(const Orders& orders) {
  const auto replaced = noted<facts::ReplicaReplaced>(orders);
  BOOST_REQUIRE(replaced.size() == 1u);
  return replaced[0];
}

}  // namespace

// The audit found two replicas that differ and nobody who had said so.
BOOST_AUTO_TEST_CASE(who_comes_back_with_other_bits_is_named_and_fetches) {
  World world;
  apply_apart(world, 2);
  Orders orders;
  const auto verdict = world.schedule.admit(peer(2), orders, world.now);
  BOOST_TEST((verdict.kind == Verdict::Kind::kFetch));
  BOOST_TEST(noted<facts::ReplicasCompared>(orders).size() == 1u);
  const auto replaced = the_only_replaced(orders);
  BOOST_TEST(replaced.replica.peer == peer(2));
  BOOST_TEST(replaced.right == 8u);
  BOOST_TEST(world.facts(1).serving);
  world.schedule.admit(peer(2), orders, world.now);  // said once
  BOOST_TEST(noted<facts::ReplicaReplaced>(orders).empty());
}

// It had been told to fetch the bits that had turned.
BOOST_AUTO_TEST_CASE(who_comes_back_stays_where_the_others_state_changed_at_rest) {
  World world;
  apply_apart(world, 1);
  Orders orders;
  const auto verdict = world.schedule.admit(peer(2), orders, world.now);
  BOOST_TEST((verdict.kind == Verdict::Kind::kServe));
  const auto replaced = the_only_replaced(orders);
  BOOST_TEST(replaced.replica.peer == peer(1));
  BOOST_TEST(replaced.right == 9u);
  BOOST_TEST(!world.facts(1).serving);
  BOOST_TEST(world.facts(2).serving);
  const auto asked = all_of<orders::AskToRegister>(orders);
  BOOST_REQUIRE(asked.size() == 1u);
  BOOST_TEST(asked[0].peer == peer(1));
}

BOOST_AUTO_TEST_SUITE_END()
