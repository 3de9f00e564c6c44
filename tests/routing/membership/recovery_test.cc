#include "routing/membership/recovery.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;
using Kind = RecoveryAction::Kind;

namespace {

PeerSupply supply(uint32_t n, uint32_t stage, bool has_state, uint64_t step,
                  const std::vector<uint64_t>& snapshots) {
  return {peer(n), Stage(stage), has_state, Step(step), {snapshots.begin(), snapshots.end()}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RecoveryTest)

BOOST_AUTO_TEST_CASE(a_run_without_any_history_starts_fresh) {
  auto plan = plan_recovery({supply(1, 0, false, 0, {}), supply(2, 1, false, 0, {})}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->fresh);
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kInitialise));
}

BOOST_AUTO_TEST_CASE(one_snapshot_anywhere_forbids_a_fresh_start) {
  auto plan = plan_recovery({supply(1, 0, false, 0, {40}), supply(2, 1, false, 0, {})}, 2);
  BOOST_REQUIRE(!plan.ok());
  BOOST_TEST(plan.code() == ErrorCode::kNotFound);
  BOOST_TEST(plan.error().detail.find("nobody has any state of stage 1;") != std::string::npos);
  BOOST_TEST(plan.error().detail.find("stage 0 has 40") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_stage_lost_before_anybody_trained_is_drawn_again) {
  auto plan = plan_recovery(
      {supply(1, 0, true, 0, {}), supply(2, 1, false, 0, {}), supply(3, 2, false, 0, {0})}, 3);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(!plan->fresh);
  BOOST_TEST(plan->step == Step(0));
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kServe));
  BOOST_TEST((plan->actions.at(peer(2)).kind == Kind::kInitialise));
  BOOST_TEST((plan->actions.at(peer(3)).kind == Kind::kRestoreOwn));
}

BOOST_AUTO_TEST_CASE(the_newest_step_that_every_stage_can_supply_is_taken) {
  auto plan = plan_recovery({supply(1, 0, true, 57, {40, 50}), supply(2, 0, false, 0, {30, 40}),
                             supply(3, 0, false, 0, {}), supply(4, 1, false, 0, {50, 30, 40}),
                             supply(5, 1, true, 40, {})},
                            2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->step == Step(50));
  BOOST_TEST(!plan->fresh);
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kRestoreOwn));
  BOOST_TEST((plan->actions.at(peer(2)).kind == Kind::kFetch));
  BOOST_TEST(plan->actions.at(peer(3)).sources == std::vector<PeerId>{peer(1)},
             boost::test_tools::per_element());
  BOOST_TEST(plan->actions.at(peer(5)).sources == std::vector<PeerId>{peer(4)},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_living_stage_goes_on_and_its_newcomer_fetches_from_the_living_first) {
  auto plan = plan_recovery(
      {supply(1, 0, false, 0, {9}), supply(2, 0, true, 9, {}), supply(3, 0, false, 0, {8})}, 1);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST((plan->actions.at(peer(2)).kind == Kind::kServe));
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kRestoreOwn));
  BOOST_TEST(plan->actions.at(peer(3)).sources == (std::vector<PeerId>{peer(2), peer(1)}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(disjoint_histories_are_an_error_that_lists_them) {
  auto plan = plan_recovery({supply(1, 0, false, 0, {1, 2}), supply(2, 1, true, 3, {})}, 2);
  BOOST_REQUIRE(!plan.ok());
  BOOST_TEST(plan.error().detail.find("stage 0 has 2, 1; stage 1 has 3") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(stages_go_on_from_one_history_and_who_has_the_other_fetches) {
  PeerSupply left0 = supply(1, 0, false, 0, {40}), left1 = supply(2, 1, false, 0, {40}),
             right0 = supply(3, 0, true, 40, {}), right1 = supply(4, 1, true, 40, {}),
             third0 = supply(5, 0, false, 0, {40});
  for (PeerSupply* one : {&left0, &left1, &third0}) one->histories[Step(40)] = History(7);
  for (PeerSupply* one : {&right0, &right1}) one->histories[Step(40)] = History(8);
  auto plan = plan_recovery({left0, left1, right0, right1, third0}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->history == History(7));
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kRestoreOwn));
  BOOST_TEST((plan->actions.at(peer(4)).kind == Kind::kFetch));
  BOOST_TEST(plan->actions.at(peer(4)).sources == std::vector<PeerId>{peer(2)},
             boost::test_tools::per_element());
  BOOST_TEST((plan->actions.at(peer(3)).sources == std::vector<PeerId>{peer(1), peer(5)}));
}

BOOST_AUTO_TEST_CASE(equal_steps_of_two_histories_are_no_common_step) {
  PeerSupply first = supply(1, 0, false, 0, {30, 40}), last = supply(2, 1, false, 0, {30, 40});
  first.histories = {{Step(30), History(5)}, {Step(40), History(7)}};
  last.histories = {{Step(30), History(5)}, {Step(40), History(8)}};
  auto plan = plan_recovery({first, last}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->step == Step(30));
  last.histories[Step(30)] = History(6);
  plan = plan_recovery({first, last}, 2);
  BOOST_REQUIRE(!plan.ok());
  BOOST_TEST(plan.code() == ErrorCode::kNotFound);
  BOOST_TEST(
      plan.error().detail.find("every stage has step 40, but not of one history; stage 0 has "
                               "history 0000000000000007; stage 1 has") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_snapshot_from_before_there_were_ids_goes_with_any) {
  PeerSupply first = supply(1, 0, false, 0, {40});
  first.histories[Step(40)] = History(7);
  auto plan = plan_recovery({first, supply(2, 1, false, 0, {40})}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->step == Step(40));
  BOOST_TEST((plan->actions.at(peer(2)).kind == Kind::kRestoreOwn));
}

BOOST_AUTO_TEST_CASE(a_longer_history_has_a_peer_of_every_stage_at_one_step) {
  std::vector<PeerSupply> peers = {supply(1, 0, true, 9, {}), supply(2, 1, true, 8, {}),
                                   supply(3, 0, true, 8, {}), supply(4, 1, false, 9, {9})};
  BOOST_TEST(longer_history(peers, 2, Step(7)).value_or(Step()) == Step(8));
  BOOST_TEST(!longer_history(peers, 2, Step(8)));
  BOOST_TEST(!longer_history(peers, 3, Step(7)));
  peers.push_back(supply(5, 1, true, 9, {}));
  BOOST_TEST(longer_history(peers, 2, Step(7)).value_or(Step()) == Step(9));
}

// It could not be gone on from, and the swarm would gather for it again and again.
BOOST_AUTO_TEST_CASE(a_step_that_stages_have_of_different_histories_is_no_longer_history) {
  std::vector<PeerSupply> peers = {supply(1, 0, true, 9, {}), supply(2, 1, true, 9, {})};
  peers[0].histories[Step(9)] = History(1);
  peers[1].histories[Step(9)] = History(2);
  BOOST_TEST(!longer_history(peers, 2, Step(7)));
  peers[1].histories[Step(9)] = History(1);
  BOOST_TEST(longer_history(peers, 2, Step(7)).value_or(Step()) == Step(9));
}

BOOST_AUTO_TEST_CASE(asynchronous_stages_go_on_each_from_its_own) {
  auto plan = plan_asynchronous_recovery(
      {supply(1, 0, true, 9, {6}), supply(2, 0, true, 8, {}), supply(3, 0, true, 5, {}),
       supply(4, 0, false, 0, {6}), supply(5, 1, false, 0, {3, 6}), supply(6, 1, false, 0, {3})},
      2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->step == Step(9));
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kServe));
  BOOST_TEST((plan->actions.at(peer(2)).kind == Kind::kServe));  // one period behind
  BOOST_TEST((plan->actions.at(peer(3)).kind == Kind::kFetch));
  BOOST_TEST((plan->actions.at(peer(4)).kind == Kind::kFetch));
  BOOST_TEST((plan->actions.at(peer(5)).kind == Kind::kRestoreOwn));
  BOOST_TEST(plan->actions.at(peer(5)).step == Step(6));
  BOOST_TEST((plan->actions.at(peer(6)).kind == Kind::kFetch));
  BOOST_TEST(plan->actions.at(peer(6)).step == Step(6));
}

BOOST_AUTO_TEST_CASE(asynchronous_stages_never_start_afresh_inside_a_history) {
  BOOST_TEST(plan_asynchronous_recovery({supply(1, 0, true, 4, {}), supply(2, 1, false, 0, {})}, 2)
                 .code() == ErrorCode::kNotFound);
  auto fresh =
      plan_asynchronous_recovery({supply(1, 0, false, 0, {}), supply(2, 1, false, 0, {})}, 2);
  BOOST_REQUIRE(fresh.ok());
  BOOST_TEST(fresh->fresh);
}

BOOST_AUTO_TEST_CASE(a_stage_that_has_lost_all_its_disks_goes_on_from_a_copy) {
  PeerSupply first = supply(1, 0, true, 57, {50, 40}), other = supply(2, 0, true, 57, {50, 40}),
             newcomer = supply(3, 1, false, 0, {});
  BOOST_TEST(plan_recovery({first, other, newcomer}, 2).code() == ErrorCode::kNotFound);
  other.copies = {{Stage(1), Step(40)}, {Stage(1), Step(30)}};
  auto plan = plan_recovery({first, other, newcomer}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->step == Step(40));
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kRestoreOwn));
  BOOST_TEST((plan->actions.at(peer(2)).kind == Kind::kRestoreOwn));
  BOOST_TEST((plan->actions.at(peer(3)).kind == Kind::kFetch));
  BOOST_TEST(plan->actions.at(peer(3)).sources == std::vector<PeerId>{peer(2)},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_has_a_snapshot_of_its_own_stage_is_asked_before_who_has_a_copy) {
  PeerSupply keeper = supply(1, 0, false, 0, {40}), own = supply(2, 1, false, 0, {40}),
             newcomer = supply(3, 1, false, 0, {});
  keeper.copies = {{Stage(1), Step(40)}};
  auto plan = plan_recovery({keeper, own, newcomer}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->actions.at(peer(3)).sources == (std::vector<PeerId>{peer(2), peer(1)}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_copy_of_another_history_is_no_copy) {
  PeerSupply keeper = supply(1, 0, false, 0, {40, 30}), newcomer = supply(2, 1, false, 0, {});
  keeper.histories = {{Step(40), History(7)}, {Step(30), History(5)}};
  keeper.copies = {{Stage(1), Step(40), History(8)}, {Stage(1), Step(30), History(5)}};
  auto plan = plan_recovery({keeper, newcomer}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST(plan->step == Step(30));
  BOOST_TEST(plan->history == History(5));
}

BOOST_AUTO_TEST_CASE(copies_are_no_history_that_somebody_leads) {
  PeerSupply keeper = supply(1, 0, true, 9, {}), other = supply(2, 1, true, 5, {});
  keeper.copies = {{Stage(1), Step(9)}};
  BOOST_TEST(!longer_history({keeper, other}, 2, Step(5)).has_value());
}

BOOST_AUTO_TEST_CASE(an_asynchronous_stage_goes_on_from_its_newest_copy) {
  PeerSupply keeper = supply(1, 0, true, 9, {}), newcomer = supply(2, 1, false, 0, {5});
  keeper.copies = {{Stage(1), Step(7)}};
  auto plan = plan_asynchronous_recovery({keeper, newcomer}, 2);
  BOOST_REQUIRE(plan.ok());
  BOOST_TEST((plan->actions.at(peer(1)).kind == Kind::kServe));
  BOOST_TEST((plan->actions.at(peer(2)).kind == Kind::kFetch));
  BOOST_TEST(plan->actions.at(peer(2)).step == Step(7));
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused) {
  BOOST_TEST(plan_recovery({}, 0).code() == ErrorCode::kInvalidArgument);
  BOOST_TEST(plan_recovery({}, 1).code() == ErrorCode::kNoLivePeer);
  BOOST_TEST(plan_recovery({supply(1, 3, false, 0, {})}, 1).code() == ErrorCode::kInvalidArgument);
  BOOST_TEST(plan_recovery({supply(1, 0, false, 0, {}), supply(1, 0, false, 0, {})}, 1).code() ==
             ErrorCode::kInvalidArgument);
  PeerSupply keeper = supply(1, 0, false, 0, {});
  keeper.copies = {{Stage(1), Step(4)}};
  BOOST_TEST(plan_recovery({keeper}, 1).code() == ErrorCode::kInvalidArgument);
}

BOOST_AUTO_TEST_SUITE_END()
