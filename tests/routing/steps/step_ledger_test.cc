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
  return {/*step=*/7, stages, slots, validation};
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
  BOOST_TEST(first[0].slot == 0u);
  BOOST_TEST(first[1].slot == 1u);
  BOOST_TEST(second[0].slot == 2u);
  BOOST_TEST(first[0].needs == 3u);
  BOOST_TEST(first[0].attempt == 1u);
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
  done(ledger, lease_one(ledger), {{0, kA, true}, {1, kB, true}});
  BOOST_TEST(!ledger.stage_full(0));
  SlotLease second = lease_one(ledger);
  BOOST_TEST(second.slot == 1u);
  done(ledger, second, {{0, kA, true}, {1, kB, false}});
  BOOST_TEST(ledger.stage_full(0));
  BOOST_TEST(!ledger.full());
  SlotLease again = lease_one(ledger);
  BOOST_TEST(again.slot == 1u);
  BOOST_TEST(again.attempt == 2u);
  BOOST_TEST(again.needs == 2u);
  done(ledger, again, {{0, kC, true}, {1, kC, true}});
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.holder(1, 0).value().peer == kA);
  BOOST_TEST(ledger.holder(1, 1).value().peer == kC);
  BOOST_TEST(ledger.lease(kTrainer, 9, 10).empty());
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_slot_counts_once) {
  StepLedger ledger(options(2, 1));
  done(ledger, lease_one(ledger), {{0, kA, true}}, /*loss=*/8, /*samples=*/4);
  done(ledger, lease_one(ledger), {{1, kB, true}}, /*loss=*/80, /*samples=*/4);
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
  BOOST_TEST(second.attempt == 2u);
  done(ledger, first, {{0, kA, true}, {1, kA, false}});
  BOOST_TEST(ledger.slots_leased() == 1u);  // the second attempt goes on
  done(ledger, second, {{0, kB, true}, {1, kB, true}});
  BOOST_TEST(ledger.holder(0, 0).value().peer == kA);
  BOOST_TEST(ledger.holder(0, 1).value().peer == kB);
  BOOST_TEST(ledger.full());
}

BOOST_AUTO_TEST_CASE(a_hop_outside_the_needs_of_its_attempt_is_ignored) {
  StepLedger ledger(options(2, 1));
  done(ledger, lease_one(ledger), {{0, kA, true}});
  SlotLease second = lease_one(ledger);
  BOOST_TEST(second.needs == 2u);
  ledger.peer_lost(kA, false);
  done(ledger, second, {{0, kB, true}, {1, kB, true}});
  BOOST_TEST(!ledger.holder(0, 0).has_value());
  BOOST_TEST(lease_one(ledger).needs == 1u);
}

BOOST_AUTO_TEST_CASE(a_dead_peer_gives_its_slots_back_and_never_holds_again) {
  StepLedger ledger(options(2, 2));
  done(ledger, lease_one(ledger), {{0, kA, true}, {1, kB, true}});
  SlotLease second = lease_one(ledger);
  BOOST_TEST(ledger.peer_lost(kA, false) == std::vector<uint32_t>{0},
             boost::test_tools::per_element());
  SlotLease again = lease_one(ledger);
  BOOST_TEST(again.slot == 0u);
  BOOST_TEST(again.needs == 1u);
  done(ledger, second, {{0, kA, true}, {1, kB, true}});
  done(ledger, again, {{0, kA, true}});
  BOOST_TEST(!ledger.holder(0, 0).has_value());
  BOOST_TEST(!ledger.holder(1, 0).has_value());
  BOOST_TEST(ledger.stage_full(1));
}

BOOST_AUTO_TEST_CASE(a_peer_that_dropped_its_sum_counts_for_new_attempts_only) {
  StepLedger ledger(options(1, 2));
  SlotLease before = lease_one(ledger);
  ledger.peer_lost(kA, true);
  SlotLease after = lease_one(ledger);
  done(ledger, before, {{0, kA, true}});
  done(ledger, after, {{0, kA, true}});
  BOOST_TEST(!ledger.holder(0, 0).has_value());
  BOOST_TEST(ledger.holder(1, 0).value().peer == kA);
  done(ledger, lease_one(ledger), {{0, kA, true}});
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
  BOOST_TEST(leases[0].attempt == 2u);
}

BOOST_AUTO_TEST_CASE(a_failed_attempt_frees_its_slot_but_not_that_of_a_later_attempt) {
  StepLedger ledger(options(1, 1));
  SlotLease first = lease_one(ledger);
  ledger.failed(first.slot, first.attempt);
  SlotLease second = lease_one(ledger);
  ledger.failed(first.slot, first.attempt);
  BOOST_TEST(ledger.slots_leased() == 1u);
  ledger.failed(second.slot, second.attempt);
  ledger.failed(99, 1);
  BOOST_TEST(ledger.slots_leased() == 0u);
}

BOOST_AUTO_TEST_CASE(validation_slots_complete_with_their_loss) {
  StepLedger ledger(options(2, 0, 2));
  BOOST_TEST(ledger.stage_full(0));
  BOOST_TEST(!ledger.full());
  auto leases = ledger.lease(kTrainer, 9, 10);
  BOOST_REQUIRE_EQUAL(leases.size(), 2u);
  BOOST_TEST(leases[0].validation);
  BOOST_TEST(leases[0].needs == 0u);
  done(ledger, leases[0], {{0, kA, true}}, 4, 2);
  BOOST_TEST(!ledger.holder(0, 0).has_value());
  BOOST_TEST(!ledger.validation_loss().has_value());
  done(ledger, leases[1], {}, 8, 2);
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.validation_loss().value() == 3.0);
  BOOST_TEST(ledger.train_loss() == 0.0);
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused_with_a_reason) {
  StepLedger ledger(options(2, 1));
  BOOST_TEST(ledger.done(5, 1, {}, 0, 1).code() == ErrorCode::kInvalidArgument);
  BOOST_TEST(ledger.done(0, 1, {}, 0, 1).code() == ErrorCode::kNotFound);
  SlotLease lease = lease_one(ledger);
  BOOST_TEST(ledger.done(0, lease.attempt, {{0, kA, true}, {2, kA, true}}, 0, 1).code() ==
             ErrorCode::kInvalidArgument);
  BOOST_TEST(!ledger.holder(0, 0).has_value());  // all or nothing
  BOOST_TEST(!ledger.stage_full(9));
}

BOOST_AUTO_TEST_CASE(a_successor_rebuilds_the_matrix_from_what_peers_hold) {
  StepLedger ledger(options(2, 3));
  ledger.rebuild(kA, 0, {{0, 4}, {1, 1}, {77, 1}});
  ledger.rebuild(kB, 0, {{1, 2}});  // second to report slot 1
  ledger.rebuild(kC, 1, {{0, 4}, {1, 2}, {2, 1}});
  ledger.rebuild(kC, 9, {{0, 4}});
  BOOST_TEST(ledger.holder(1, 0).value().peer == kA);
  BOOST_TEST(ledger.stage_full(1));
  BOOST_TEST(ledger.train_samples() == 0u);
  BOOST_TEST(ledger.done(0, 4, {{0, kB, true}}, 6, 3).ok());  // brings the loss, no entry
  BOOST_TEST(ledger.holder(0, 0).value().peer == kA);
  BOOST_TEST(ledger.train_loss() == 2.0);
  SlotLease lease = lease_one(ledger);
  BOOST_TEST(lease.slot == 2u);
  BOOST_TEST(lease.attempt == 2u);
  BOOST_TEST(lease.needs == 1u);
  done(ledger, lease, {{0, kB, true}, {1, kB, false}});
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.counted(0).at(kA) == (std::vector<uint32_t>{0, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(ledger.peer_lost(kA, false).size() == 2u);
  ledger.rebuild(kA, 0, {{0, 4}});
  BOOST_TEST(!ledger.holder(0, 0).has_value());
}

BOOST_AUTO_TEST_CASE(a_successor_knows_the_losses_that_its_predecessor_was_told) {
  StepLedger ledger(options(2, 2));
  ledger.rebuild(kA, 1, {{0, 1}, {1, 1}});
  ledger.rebuild_loss(0, 6, 2);
  ledger.rebuild_loss(0, 100, 2);  // once per slot
  ledger.rebuild_loss(1, 100, 0);  // not known
  ledger.rebuild_loss(1, std::nan(""), 2);
  ledger.rebuild_loss(77, 100, 2);
  BOOST_TEST(ledger.train_samples() == 2u);
  BOOST_TEST(ledger.train_loss() == 3.0);
  BOOST_TEST(ledger.done(1, 1, {}, 2, 2).ok());
  BOOST_TEST(ledger.done(0, 1, {}, 100, 2).ok());  // comes again
  BOOST_TEST(ledger.train_loss() == 2.0);
}

BOOST_AUTO_TEST_CASE(sixty_four_stages_fit) {
  StepLedger ledger(options(64, 1));
  SlotLease lease = lease_one(ledger);
  BOOST_TEST(lease.needs == ~StageMask{0});
  std::vector<LedgerHop> route;
  for (uint32_t stage = 0; stage < 64; ++stage) route.push_back({stage, kA, true});
  done(ledger, lease, route);
  BOOST_TEST(ledger.full());
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_twice_not_finite_counts_for_no_stage) {
  StepLedger ledger({0, 2, 2});
  auto first = ledger.lease(kTrainer, 2, 10);
  BOOST_REQUIRE(first.size() == 2u);
  (void)ledger.done(0, 1, {{0, kA, true, 1}, {1, kC, true, 1}}, 1, 1).ok();
  BOOST_TEST((ledger.non_finite(1, 1, {0, kA}) == NonFiniteVerdict::kRetry));
  BOOST_TEST((ledger.non_finite(1, 1, {0, kA}) == NonFiniteVerdict::kIgnored));  // a repeat
  BOOST_TEST((ledger.avoid(1).size() == 1u && ledger.avoid(1)[0].peer == kA));
  auto second = ledger.lease(kTrainer, 2, 10);
  BOOST_REQUIRE(second.size() == 1u);
  BOOST_TEST((ledger.non_finite(1, 2, {0, kB}) == NonFiniteVerdict::kSkipped));
  BOOST_TEST(ledger.full());
  BOOST_TEST(ledger.counted_slots() == 1u);
  BOOST_TEST(ledger.skipped() == std::vector<uint32_t>{1}, boost::test_tools::per_element());
  BOOST_TEST(ledger.lease(kTrainer, 2, 10).empty());
  // A late success changes nothing.
  BOOST_TEST(ledger.done(1, 2, {{0, kB, true, 2}, {1, kC, true, 2}}, 9, 1).ok());
  BOOST_TEST(!ledger.holder(1, 0).has_value());
  BOOST_TEST(ledger.train_loss() == 1.0);
}

BOOST_AUTO_TEST_CASE(a_slot_that_every_stage_holds_is_not_skipped_by_late_reports) {
  StepLedger ledger({0, 1, 1});
  (void)ledger.lease(kTrainer, 1, 1);
  (void)ledger.expire(2);
  (void)ledger.lease(kTrainer, 1, 9);
  BOOST_TEST(ledger.done(0, 2, {{0, kA, true, 2}}, 1, 1).ok());
  BOOST_TEST((ledger.non_finite(0, 1, {0, kB}) == NonFiniteVerdict::kIgnored));
  BOOST_TEST(ledger.full());
}

BOOST_AUTO_TEST_CASE(a_validation_slot_that_is_not_finite_makes_the_loss_not_a_number) {
  StepLedger ledger({0, 1, 0, 1});
  (void)ledger.lease(kTrainer, 1, 1);
  BOOST_TEST((ledger.non_finite(0, 1, {0, kA}) == NonFiniteVerdict::kRetry));
  (void)ledger.lease(kTrainer, 1, 1);
  BOOST_TEST((ledger.non_finite(0, 2, {0, kB}) == NonFiniteVerdict::kSkipped));
  BOOST_TEST(ledger.full());
  BOOST_TEST(std::isnan(ledger.validation_loss().value()));
}

BOOST_AUTO_TEST_SUITE_END()
