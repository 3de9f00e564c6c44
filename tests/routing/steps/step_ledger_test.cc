#include "routing/steps/step_ledger.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;

namespace {

const ActorId kTrainer = peer(900, "trainer");
const ActorId kOtherTrainer = peer(901, "trainer");
const PeerId kA = peer(1), kB = peer(2), kC = peer(3);

StepLedgerOptions options(uint32_t stages, uint32_t slots, uint32_t validation = 0) {
  return {Step(7), stages, slots, validation, Attempt()};
}

LedgerHop hop(uint32_t stage, const PeerId& peer, bool held = false, uint64_t attempt = 0) {
  return {Stage(stage), peer, held, Attempt(attempt)};
}
std::pair<Slot, Attempt> held(uint32_t slot, uint64_t attempt) {
  return {Slot(slot), Attempt(attempt)};
}

SlotLease lease_one(StepLedger& ledger, double deadline_s = 10) {
  auto leases = ledger.lease(kTrainer, 1, deadline_s);
  BOOST_REQUIRE_EQUAL(leases.size(), 1u);
  return leases[0];
}

void done(StepLedger& ledger, const SlotLease& lease, const std::vector<LedgerHop>& route,
          double loss = 2, uint32_t samples = 4) {
  BOOST_REQUIRE(ledger.done(lease.slot, lease.attempt, route, loss, samples).ok());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StepLedgerTest)

BOOST_AUTO_TEST_CASE(slots_are_leased_lowest_first_and_each_to_one_trainer) {
  StepLedger ledger(options(2, 3));
  auto first = ledger.lease(kTrainer, 2, 10);
  auto second = ledger.lease(kOtherTrainer, 5, 10);
  BOOST_REQUIRE_EQUAL(first.size(), 2u);
  BOOST_REQUIRE_EQUAL(second.size(), 1u);
  BOOST_TEST(first[0].slot == Slot(0));
  BOOST_TEST(first[1].slot == Slot(1));
  BOOST_TEST(second[0].slot == Slot(2));
  BOOST_TEST(first[0].needs == 3u);
  BOOST_TEST(first[0].attempt == Attempt(1));
  BOOST_TEST(ledger.lease(kTrainer, 5, 10).empty());
  BOOST_TEST(ledger.slots_leased() == 3u);
  BOOST_TEST(ledger.attempts() == 3u);
}

BOOST_AUTO_TEST_CASE(attempts_are_counted_of_training_slots_only) {
  StepLedger ledger(options(1, 2, /*validation=*/3));
  BOOST_TEST(ledger.lease(kTrainer, 5, 10).size() == 5u);
  BOOST_TEST(ledger.attempts() == 2u);
}

BOOST_AUTO_TEST_CASE(a_step_is_full_when_every_stage_of_every_slot_has_a_holder) {
  StepLedger ledger(options(2, 2));
  done(ledger, lease_one(ledger), {hop(0, kA, true), hop(1, kB, true)});
  BOOST_TEST(!ledger.stage_full(Stage(0)));
  SlotLease second = lease_one(ledger);
  BOOST_TEST(second.slot == Slot(1));
  done(ledger, second, {hop(0, kA, true), hop(1, kB, false)});
  BOOST_TEST(ledger.stage_full(Stage(0)));
  BOOST_TEST(!ledger.full());
  SlotLease again = lease_one(ledger);
  BOOST_TEST(again.slot == Slot(1));
  BOOST_TEST(again.attempt == Attempt(2));
  BOOST_TEST(again.needs == 2u);
  done(ledger, again, {hop(0, kC, true), hop(1, kC, true)});
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.holder(Slot(1), Stage(0)).value().peer == kA);
  BOOST_TEST(ledger.holder(Slot(1), Stage(1)).value().peer == kC);
  BOOST_TEST(ledger.lease(kTrainer, 9, 10).empty());
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_slot_counts_once) {
  StepLedger ledger(options(2, 1));
  done(ledger, lease_one(ledger), {hop(0, kA, true)}, /*loss=*/8, /*samples=*/4);
  done(ledger, lease_one(ledger), {hop(1, kB, true)}, /*loss=*/80, /*samples=*/4);
  BOOST_TEST(ledger.train_loss() == 2.0);
  BOOST_TEST(ledger.train_samples() == 4u);
  BOOST_TEST(ledger.slots_done() == 1u);
}

BOOST_AUTO_TEST_CASE(a_late_attempt_fills_what_is_missing_and_changes_nothing_else) {
  StepLedger ledger(options(2, 1));
  SlotLease first = lease_one(ledger, 5);
  BOOST_TEST(ledger.expire(4.9).empty());
  BOOST_REQUIRE_EQUAL(ledger.expire(5).size(), 1u);
  SlotLease second = lease_one(ledger, 20);
  BOOST_TEST(second.attempt == Attempt(2));
  done(ledger, first, {hop(0, kA, true), hop(1, kA, false)});
  BOOST_TEST(ledger.slots_leased() == 1u);  // the second attempt goes on
  done(ledger, second, {hop(0, kB, true), hop(1, kB, true)});
  BOOST_TEST(ledger.holder(Slot(0), Stage(0)).value().peer == kA);
  BOOST_TEST(ledger.holder(Slot(0), Stage(1)).value().peer == kB);
  BOOST_TEST(ledger.full());
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_renewed_is_not_taken_back) {
  StepLedger ledger(options(1, 1));
  SlotLease first = lease_one(ledger, 5);
  ledger.renew(first.slot, first.attempt, 9);
  ledger.renew(first.slot, first.attempt, 7);  // said late
  BOOST_TEST(ledger.expire(8.9).empty());
  BOOST_REQUIRE_EQUAL(ledger.expire(9).size(), 1u);
  SlotLease second = lease_one(ledger, 15);
  ledger.renew(first.slot, first.attempt, 99);  // it is another's now
  ledger.renew(Slot(77), first.attempt, 99);
  BOOST_REQUIRE_EQUAL(ledger.expire(15).size(), 1u);
  ledger.renew(second.slot, second.attempt, 99);
  BOOST_TEST(ledger.slots_leased() == 0u);
}

BOOST_AUTO_TEST_CASE(a_hop_outside_the_needs_of_its_attempt_is_ignored) {
  StepLedger ledger(options(2, 1));
  done(ledger, lease_one(ledger), {hop(0, kA, true)});
  SlotLease second = lease_one(ledger);
  BOOST_TEST(second.needs == 2u);
  ledger.peer_lost(kA, false);
  done(ledger, second, {hop(0, kB, true), hop(1, kB, true)});
  BOOST_TEST(!ledger.holder(Slot(0), Stage(0)).has_value());
  BOOST_TEST(lease_one(ledger).needs == 1u);
}

BOOST_AUTO_TEST_CASE(a_dead_peer_gives_its_slots_back_and_never_holds_again) {
  StepLedger ledger(options(2, 2));
  done(ledger, lease_one(ledger), {hop(0, kA, true), hop(1, kB, true)});
  SlotLease second = lease_one(ledger);
  BOOST_TEST(ledger.peer_lost(kA, false) == std::vector<Slot>{Slot(0)},
             boost::test_tools::per_element());
  SlotLease again = lease_one(ledger);
  BOOST_TEST(again.slot == Slot(0));
  BOOST_TEST(again.needs == 1u);
  done(ledger, second, {hop(0, kA, true), hop(1, kB, true)});
  done(ledger, again, {hop(0, kA, true)});
  BOOST_TEST(!ledger.holder(Slot(0), Stage(0)).has_value());
  BOOST_TEST(!ledger.holder(Slot(1), Stage(0)).has_value());
  BOOST_TEST(ledger.stage_full(Stage(1)));
}

BOOST_AUTO_TEST_CASE(a_peer_that_dropped_its_sum_counts_for_new_attempts_only) {
  StepLedger ledger(options(1, 2));
  SlotLease before = lease_one(ledger);
  ledger.peer_lost(kA, true);
  SlotLease after = lease_one(ledger);
  done(ledger, before, {hop(0, kA, true)});
  done(ledger, after, {hop(0, kA, true)});
  BOOST_TEST(!ledger.holder(Slot(0), Stage(0)).has_value());
  BOOST_TEST(ledger.holder(Slot(1), Stage(0)).value().peer == kA);
  done(ledger, lease_one(ledger), {hop(0, kA, true)});
  BOOST_TEST(ledger.full());
}

BOOST_AUTO_TEST_CASE(a_lost_trainer_loses_only_its_own_leases) {
  StepLedger ledger(options(1, 3));
  (void)ledger.lease(kTrainer, 2, 10);
  (void)ledger.lease(kOtherTrainer, 1, 10);
  BOOST_TEST(ledger.trainer_lost(kTrainer) == 2u);
  BOOST_TEST(ledger.slots_leased() == 1u);
  BOOST_TEST(ledger.trainer_lost(kTrainer) == 0u);
  auto leases = ledger.lease(kOtherTrainer, 9, 10);
  BOOST_REQUIRE_EQUAL(leases.size(), 2u);
  BOOST_TEST(leases[0].attempt == Attempt(2));
}

BOOST_AUTO_TEST_CASE(a_trainer_keeps_what_it_says_that_it_carries) {
  StepLedger ledger(options(1, 3));
  const auto leases = ledger.lease(kTrainer, 3, 10);
  BOOST_REQUIRE_EQUAL(leases.size(), 3u);
  BOOST_TEST(ledger.trainer_lost(kTrainer, {{ledger.step(), leases[1].slot, leases[1].attempt}}) ==
             2u);
  BOOST_TEST(ledger.slots_leased() == 1u);
  for (const auto& lease : ledger.lease(kOtherTrainer, 3, 10))
    BOOST_TEST((lease.slot != leases[1].slot));
}

BOOST_AUTO_TEST_CASE(a_failed_attempt_frees_its_slot_but_not_that_of_a_later_attempt) {
  StepLedger ledger(options(1, 1));
  SlotLease first = lease_one(ledger);
  ledger.failed(first.slot, first.attempt);
  SlotLease second = lease_one(ledger);
  ledger.failed(first.slot, first.attempt);
  BOOST_TEST(ledger.slots_leased() == 1u);
  ledger.failed(second.slot, second.attempt);
  ledger.failed(Slot(99), Attempt(1));
  BOOST_TEST(ledger.slots_leased() == 0u);
}

BOOST_AUTO_TEST_CASE(validation_slots_complete_with_their_loss) {
  StepLedger ledger(options(2, 0, 2));
  BOOST_TEST(ledger.stage_full(Stage(0)));
  BOOST_TEST(!ledger.full());
  auto leases = ledger.lease(kTrainer, 9, 10);
  BOOST_REQUIRE_EQUAL(leases.size(), 2u);
  BOOST_TEST(leases[0].validation);
  BOOST_TEST(leases[0].needs == 0u);
  done(ledger, leases[0], {hop(0, kA, true)}, 4, 2);
  BOOST_TEST(!ledger.holder(Slot(0), Stage(0)).has_value());
  BOOST_TEST(!ledger.validation_loss().has_value());
  done(ledger, leases[1], {}, 8, 2);
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.validation_loss().value() == 3.0);
  BOOST_TEST(ledger.train_loss() == 0.0);
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused_with_a_reason) {
  StepLedger ledger(options(2, 1));
  BOOST_TEST(ledger.done(Slot(5), Attempt(1), {}, 0, 1).code() == ErrorCode::kInvalidArgument);
  BOOST_TEST(ledger.done(Slot(0), Attempt(1), {}, 0, 1).code() == ErrorCode::kNotFound);
  SlotLease lease = lease_one(ledger);
  BOOST_TEST(
      ledger.done(Slot(0), lease.attempt, {hop(0, kA, true), hop(2, kA, true)}, 0, 1).code() ==
      ErrorCode::kInvalidArgument);
  BOOST_TEST(!ledger.holder(Slot(0), Stage(0)).has_value());  // all or nothing
  BOOST_TEST(!ledger.stage_full(Stage(9)));
}

BOOST_AUTO_TEST_CASE(a_successor_rebuilds_the_matrix_from_what_peers_hold) {
  StepLedger ledger(options(2, 3));
  ledger.rebuild(kA, Stage(0), {held(0, 4), held(1, 1), held(77, 1)});
  ledger.rebuild(kB, Stage(0), {held(1, 2)});  // second to report slot 1
  ledger.rebuild(kC, Stage(1), {held(0, 4), held(1, 2), held(2, 1)});
  ledger.rebuild(kC, Stage(9), {held(0, 4)});
  BOOST_TEST(ledger.holder(Slot(1), Stage(0)).value().peer == kA);
  BOOST_TEST(ledger.stage_full(Stage(1)));
  BOOST_TEST(ledger.train_samples() == 0u);
  // Brings the loss, no entry.
  BOOST_TEST(ledger.done(Slot(0), Attempt(4), {hop(0, kB, true)}, 6, 3).ok());
  BOOST_TEST(ledger.holder(Slot(0), Stage(0)).value().peer == kA);
  BOOST_TEST(ledger.train_loss() == 2.0);
  SlotLease lease = lease_one(ledger);
  BOOST_TEST(lease.slot == Slot(2));
  BOOST_TEST(lease.attempt == Attempt(2));
  BOOST_TEST(lease.needs == 1u);
  done(ledger, lease, {hop(0, kB, true), hop(1, kB, false)});
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.counted(Stage(0)).at(kA) == (std::vector<Slot>{Slot(0), Slot(1)}),
             boost::test_tools::per_element());
  BOOST_TEST(ledger.peer_lost(kA, false).size() == 2u);
  ledger.rebuild(kA, Stage(0), {held(0, 4)});
  BOOST_TEST(!ledger.holder(Slot(0), Stage(0)).has_value());
}

BOOST_AUTO_TEST_CASE(a_successor_knows_the_losses_that_its_predecessor_was_told) {
  StepLedger ledger(options(2, 2));
  ledger.rebuild(kA, Stage(1), {held(0, 1), held(1, 1)});
  ledger.rebuild_loss(Slot(0), 6, 2);
  ledger.rebuild_loss(Slot(0), 100, 2);  // once per slot
  ledger.rebuild_loss(Slot(1), 100, 0);  // not known
  ledger.rebuild_loss(Slot(1), std::nan(""), 2);
  ledger.rebuild_loss(Slot(77), 100, 2);
  BOOST_TEST(ledger.train_samples() == 2u);
  BOOST_TEST(ledger.train_loss() == 3.0);
  BOOST_TEST(ledger.done(Slot(1), Attempt(1), {}, 2, 2).ok());
  BOOST_TEST(ledger.done(Slot(0), Attempt(1), {}, 100, 2).ok());  // comes again
  BOOST_TEST(ledger.train_loss() == 2.0);
}

BOOST_AUTO_TEST_CASE(sixty_four_stages_fit) {
  StepLedger ledger(options(64, 1));
  SlotLease lease = lease_one(ledger);
  BOOST_TEST(lease.needs == ~StageMask{0});
  std::vector<LedgerHop> route;
  for (uint32_t stage = 0; stage < 64; ++stage) route.push_back(hop(stage, kA, true));
  done(ledger, lease, route);
  BOOST_TEST(ledger.full());
}

namespace {

NonFiniteVerdict not_finite(StepLedger& ledger, uint32_t slot, uint64_t attempt, const PeerId& who,
                            bool other_node = true) {
  return ledger.non_finite(Slot(slot), Attempt(attempt), hop(0, who), other_node);
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_node_alone_does_not_make_a_slot_be_skipped_while_there_is_another) {
  StepLedger ledger({Step(0), 1, 1, 0, Attempt()});
  for (uint64_t attempt = 1; attempt <= 3; ++attempt) {
    (void)ledger.lease(kTrainer, 1, 10);
    BOOST_TEST((not_finite(ledger, 0, attempt, kA) == NonFiniteVerdict::kRetry));
  }
  (void)ledger.lease(kTrainer, 1, 10);
  BOOST_TEST((not_finite(ledger, 0, 4, kA, /*other_node=*/false) == NonFiniteVerdict::kSkipped));
}

BOOST_AUTO_TEST_CASE(a_slot_that_gets_round_nobody_is_skipped_after_all) {
  StepLedger ledger({Step(0), 1, 1, 0, Attempt()});
  auto verdict = NonFiniteVerdict::kRetry;
  uint64_t attempt = 0;
  while (verdict == NonFiniteVerdict::kRetry && attempt < 20) {
    (void)ledger.lease(kTrainer, 1, 10);
    verdict = not_finite(ledger, 0, ++attempt, kA);
  }
  BOOST_TEST((verdict == NonFiniteVerdict::kSkipped));
  BOOST_TEST(attempt == StepLedger::kMostNonFinite);
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_twice_not_finite_counts_for_no_stage) {
  StepLedger ledger({Step(0), 2, 2, 0, Attempt()});
  auto first = ledger.lease(kTrainer, 2, 10);
  BOOST_REQUIRE(first.size() == 2u);
  (void)ledger.done(Slot(0), Attempt(1), {hop(0, kA, true, 1), hop(1, kC, true, 1)}, 1, 1).ok();
  BOOST_TEST((not_finite(ledger, 1, 1, kA) == NonFiniteVerdict::kRetry));
  // A repeat.
  BOOST_TEST((not_finite(ledger, 1, 1, kA) == NonFiniteVerdict::kIgnored));
  BOOST_TEST((ledger.avoid(Slot(1)).size() == 1u && ledger.avoid(Slot(1))[0].peer == kA));
  auto second = ledger.lease(kTrainer, 2, 10);
  BOOST_REQUIRE(second.size() == 1u);
  BOOST_TEST((not_finite(ledger, 1, 2, kB) == NonFiniteVerdict::kSkipped));
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.counted_slots() == 1u);
  BOOST_TEST(ledger.skipped() == std::vector<Slot>{Slot(1)}, boost::test_tools::per_element());
  BOOST_TEST(ledger.lease(kTrainer, 2, 10).empty());
  // A late success changes nothing.
  BOOST_TEST(
      ledger.done(Slot(1), Attempt(2), {hop(0, kB, true, 2), hop(1, kC, true, 2)}, 9, 1).ok());
  BOOST_TEST(!ledger.holder(Slot(1), Stage(0)).has_value());
  BOOST_TEST(ledger.train_loss() == 1.0);
}

BOOST_AUTO_TEST_CASE(a_slot_that_every_stage_holds_is_not_skipped_by_late_reports) {
  StepLedger ledger({Step(0), 1, 1, 0, Attempt()});
  (void)ledger.lease(kTrainer, 1, 1);
  (void)ledger.expire(2);
  (void)ledger.lease(kTrainer, 1, 9);
  BOOST_TEST(ledger.done(Slot(0), Attempt(2), {hop(0, kA, true, 2)}, 1, 1).ok());
  BOOST_TEST((not_finite(ledger, 0, 1, kB) == NonFiniteVerdict::kIgnored));
  BOOST_TEST(ledger.full());
}

BOOST_AUTO_TEST_CASE(a_validation_slot_that_is_not_finite_makes_the_loss_not_a_number) {
  StepLedger ledger({Step(0), 1, 0, 1, Attempt()});
  (void)ledger.lease(kTrainer, 1, 1);
  BOOST_TEST((not_finite(ledger, 0, 1, kA) == NonFiniteVerdict::kRetry));
  (void)ledger.lease(kTrainer, 1, 1);
  BOOST_TEST((not_finite(ledger, 0, 2, kB) == NonFiniteVerdict::kSkipped));
  BOOST_TEST(ledger.full());
  BOOST_TEST(std::isnan(ledger.validation_loss().value()));
}

BOOST_AUTO_TEST_CASE(who_computes_in_vain_is_carried_round) {
  StepLedger ledger({Step(0), 1, 1, 0, Attempt()});
  const auto carry = [&](uint64_t attempt) {
    (void)ledger.lease(kTrainer, 1, 10);
    (void)ledger.done(Slot(0), Attempt(attempt), {hop(0, kA, true, attempt)}, 1, 1).ok();
  };
  carry(1);
  (void)ledger.peer_lost(kA, /*may_return=*/true);
  BOOST_TEST(ledger.avoid(Slot(0)).empty());  // it may have been a restart
  carry(2);
  (void)ledger.peer_lost(kA, /*may_return=*/true);
  BOOST_REQUIRE(ledger.avoid(Slot(0)).size() == 1u);
  BOOST_TEST((ledger.avoid(Slot(0))[0].peer == kA && ledger.avoid(Slot(0))[0].stage == Stage(0)));
}

BOOST_AUTO_TEST_CASE(who_is_gone_and_goes_on_to_compute_is_carried_round) {
  StepLedger ledger({Step(0), 1, 1, 0, Attempt()});
  (void)ledger.peer_lost(kA, /*may_return=*/false);
  BOOST_TEST(ledger.avoid(Slot(0)).empty());
  (void)ledger.lease(kTrainer, 1, 10);
  (void)ledger.done(Slot(0), Attempt(1), {hop(0, kA, true, 1)}, 1, 1).ok();
  BOOST_TEST(!ledger.full());
  BOOST_TEST(ledger.avoid(Slot(0)).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
