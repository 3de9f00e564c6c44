#include "routing/membership/admission.h"

#include <boost/test/unit_test.hpp>

#include "routing/membership/peer_phase.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;
using swarm::testing::peer;
using Kind = Verdict::Kind;
using Then = Admission::Then;

namespace {

/// Stages 0 and 1; peers 1, 2 serve stage 0, peer 3 serves stage 1, all at `step`.
struct Swarm {
  Roster roster{2};
  Whereabouts where;

  explicit Swarm(uint64_t step) : where{Step(step), Step(step), false, 3s} {
    add(1, 0, step).serving = true;
    add(2, 0, step).serving = true;
    add(3, 1, step).serving = true;
  }
  /// Registers a peer.
  PeerFacts& add(uint32_t n, uint32_t stage, uint64_t step, uint64_t checksum = 7) {
    PeerReport report;
    report.has_state = true;
    report.step = report.open_step = Step(step);
    report.checksum = checksum;
    roster.report(peer(n), Stage(stage), "n" + std::to_string(n), report);
    return *roster.find(peer(n));
  }
  PeerFacts& add_empty(uint32_t n, uint32_t stage) {
    roster.report(peer(n), Stage(stage), "n" + std::to_string(n), PeerReport{});
    return *roster.find(peer(n));
  }
  Admission at_step(uint32_t n, Time now = 0s) {
    return admit_at_step(peer(n), roster, where, now);
  }
  Admission at_period(uint32_t n) { return admit_at_period(peer(n), roster, where); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(AdmissionAtAStep)

BOOST_AUTO_TEST_CASE(who_is_at_the_open_step_with_equal_bits_enters) {
  Swarm swarm(4);
  swarm.add(9, 0, 4);
  const auto admission = swarm.at_step(9);
  BOOST_TEST((admission.verdict.kind == Kind::kServe));
  BOOST_TEST((admission.then == Then::kEnters));
  BOOST_TEST(admission.verdict.open_step == Step(4));
}

BOOST_AUTO_TEST_CASE(who_fetches_is_told_what_the_others_have) {
  Swarm swarm(4);
  swarm.add_empty(9, 0);
  const auto word = swarm.at_step(9).verdict.word;
  BOOST_REQUIRE(word.has_value());
  BOOST_TEST(word->step == Step(4));
  BOOST_TEST(word->checksum == 7u);
}

BOOST_AUTO_TEST_CASE(where_the_others_differ_or_are_elsewhere_there_is_no_word) {
  Swarm swarm(4);
  swarm.add_empty(9, 0);
  swarm.add(2, 0, 4, 8).serving = true;
  BOOST_TEST(!swarm.at_step(9).verdict.word.has_value());
  swarm.roster.find(peer(2))->wrong_checksum = 8;  // it is not believed
  BOOST_TEST(swarm.at_step(9).verdict.word->checksum == 7u);
  swarm.roster.find(peer(1))->commit_pending = true;
  BOOST_TEST(!swarm.at_step(9).verdict.word.has_value());
  swarm.roster.find(peer(1))->commit_pending = false;
  swarm.add(1, 0, 5).serving = true;
  BOOST_TEST(!swarm.at_step(9).verdict.word.has_value());
}

BOOST_AUTO_TEST_CASE(who_serves_already_keeps_what_it_holds) {
  Swarm swarm(4);
  const auto admission = swarm.at_step(1);
  BOOST_TEST((admission.then == Then::kStays));
  BOOST_TEST(admission.verdict.keep_held);
}

BOOST_AUTO_TEST_CASE(who_has_no_state_fetches_it_from_the_others_of_its_stage) {
  Swarm swarm(4);
  swarm.add_empty(9, 0);
  const auto admission = swarm.at_step(9);
  BOOST_TEST((admission.verdict.kind == Kind::kFetch));
  BOOST_TEST((admission.verdict.sources == std::vector<PeerId>{peer(1), peer(2)}));
  BOOST_TEST(admission.verdict.step == Step(4));
}

// With delayed updates nobody came in before the pipeline had run dry, so nobody could begin.
BOOST_AUTO_TEST_CASE(who_has_no_state_fetches_it_while_an_update_is_under_way) {
  Swarm swarm(4);
  swarm.where.step = Step(5);
  swarm.add_empty(9, 0);
  BOOST_TEST((swarm.at_step(9).verdict.kind == Kind::kFetch));
  BOOST_TEST(swarm.at_step(9).verdict.step == Step(4));
  auto& learner = swarm.add(8, 0, 4);
  BOOST_TEST((swarm.at_step(8).verdict.kind == Kind::kWait));  // it has all: a moment more
  learner.state_bytes = learner.learned_bytes = 100;
  BOOST_TEST((swarm.at_step(8).verdict.kind == Kind::kFetch));
}

BOOST_AUTO_TEST_CASE(a_replica_that_trained_in_the_other_part_of_a_divided_network_fetches) {
  Swarm swarm(4);
  swarm.add(9, 0, 4, /*checksum=*/8);
  const auto admission = swarm.at_step(9);
  BOOST_TEST((admission.verdict.kind == Kind::kFetch));
  BOOST_TEST((admission.then == Then::kNothing));
}

BOOST_AUTO_TEST_CASE(bits_are_compared_once_the_replicas_have_applied_their_update) {
  Swarm swarm(4);
  for (uint32_t n : {1u, 2u}) swarm.roster.find(peer(n))->checksum_step = Step(3);
  swarm.add(9, 0, 4, /*checksum=*/8);
  BOOST_TEST((swarm.at_step(9).verdict.kind == Kind::kWait));
}

BOOST_AUTO_TEST_CASE(a_commit_under_way_counts_as_being_there) {
  Swarm swarm(5);
  auto& late = swarm.add(1, 0, 4);
  late.commit_pending = true;
  BOOST_TEST((swarm.at_step(1).then == Then::kStays));
}

// What it would compute of the open step now would be of other parameters than the others'.
BOOST_AUTO_TEST_CASE(who_computed_ahead_of_an_update_under_way_waits_for_it) {
  Swarm swarm(5);
  auto& late = swarm.add(1, 0, 4);
  late.commit_pending = true;
  late.open_step = Step(5);
  BOOST_TEST((swarm.at_step(1).verdict.kind == Kind::kWait));
}

BOOST_AUTO_TEST_CASE(a_peer_ahead_of_a_swarm_that_had_gone_back_serves_no_longer) {
  Swarm swarm(4);
  swarm.add(2, 0, 6);
  const auto admission = swarm.at_step(2);
  BOOST_TEST((admission.verdict.kind == Kind::kWait));
  BOOST_TEST((admission.then == Then::kIsAhead));
}

BOOST_AUTO_TEST_CASE(who_stays_alone_with_a_later_step_fetches_after_a_while) {
  Swarm swarm(4);
  swarm.add(2, 0, 6).ahead_since = 10s;
  BOOST_TEST((swarm.at_step(2, 13s).verdict.kind == Kind::kWait));
  BOOST_TEST((swarm.at_step(2, 14s).verdict.kind == Kind::kFetch));
}

BOOST_AUTO_TEST_CASE(a_longer_history_in_every_stage_makes_the_swarm_gather) {
  Swarm swarm(4);
  swarm.add(8, 0, 6);
  BOOST_TEST((swarm.at_step(8).then == Then::kIsAhead));
  swarm.add(9, 1, 6);
  const auto admission = swarm.at_step(9);
  BOOST_TEST((admission.then == Then::kGather));
  BOOST_TEST(admission.gather_reason.find("step 6") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_only_peer_of_a_stage_that_is_elsewhere_makes_the_swarm_gather) {
  Swarm swarm(4);
  swarm.add(3, 1, 5);  // its commit's answer was lost in a gathering; it still counts as serving
  const auto admission = swarm.at_step(3);
  BOOST_TEST((admission.then == Then::kGather));
  BOOST_TEST(!admission.gather_reason.empty());
}

// Its parameters are those of the swarm; what it computed ahead of them is given up.
BOOST_AUTO_TEST_CASE(who_is_ahead_with_its_open_step_only_enters_and_fetches_nothing) {
  Swarm swarm(4);
  swarm.add(9, 0, 4).open_step = Step(5);
  const auto admission = swarm.at_step(9);
  BOOST_TEST((admission.verdict.kind == Kind::kServe));
  BOOST_TEST((admission.then == Then::kEnters));
  BOOST_TEST(admission.verdict.step == Step(4));
  BOOST_TEST(admission.verdict.open_step == Step(4));
  BOOST_TEST((serve_in_steps({true, Step(5), Step(4), Step(4)}, /*serving=*/false, Step(4),
                             Step(4)) == Serve::kCollapse));
  swarm.add(9, 0, 4, /*checksum=*/8).open_step = Step(5);  // other bits
  BOOST_TEST((swarm.at_step(9).verdict.kind == Kind::kFetch));
}

BOOST_AUTO_TEST_CASE(nobody_comes_in_while_an_update_is_under_way) {
  Swarm swarm(5);
  swarm.where.applied = Step(4);
  swarm.add(8, 0, 4);
  swarm.add_empty(9, 0);
  BOOST_TEST((swarm.at_step(8).verdict.kind == Kind::kWait));
  BOOST_TEST((swarm.at_step(9).verdict.kind == Kind::kFetch));  // learning disturbs nobody
}

BOOST_AUTO_TEST_CASE(after_the_end_a_stage_that_lost_all_its_peers_comes_back_from_its_snapshot) {
  Swarm swarm(10);
  swarm.where.finished = true;
  swarm.roster.remove(peer(3));
  swarm.add_empty(9, 1).snapshots = {Step(8), Step(10)};
  const auto admission = swarm.at_step(9);
  BOOST_TEST((admission.verdict.kind == Kind::kRestoreOwn));
  BOOST_TEST(admission.verdict.step == Step(10));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(AdmissionAtAPeriod)

BOOST_AUTO_TEST_CASE(who_is_one_period_behind_takes_part) {
  Swarm swarm(6);
  swarm.add(9, 0, 5);
  const auto admission = swarm.at_period(9);
  BOOST_TEST((admission.then == Then::kEnters));
  BOOST_TEST(admission.verdict.open_step == Step(6));
}

BOOST_AUTO_TEST_CASE(who_is_further_behind_fetches) {
  Swarm swarm(6);
  swarm.add(9, 0, 4);
  const auto admission = swarm.at_period(9);
  BOOST_TEST((admission.verdict.kind == Kind::kFetch));
  BOOST_TEST((admission.then == Then::kFetches));
}

BOOST_AUTO_TEST_CASE(what_it_has_fetched_will_do_however_long_that_took) {
  Swarm swarm(9);
  swarm.add(9, 0, 5).fetch_from = Step(6);
  BOOST_TEST((swarm.at_period(9).then == Then::kEnters));
}

BOOST_AUTO_TEST_CASE(after_the_end_who_has_missed_the_last_averaging_fetches) {
  Swarm swarm(9);
  swarm.where.finished = true;
  swarm.add(9, 0, 9, /*checksum=*/8);
  BOOST_TEST((swarm.at_period(9).verdict.kind == Kind::kFetch));
  swarm.add(9, 0, 8).serving = true;
  BOOST_TEST((swarm.at_period(9).then == Then::kFetches));
}

BOOST_AUTO_TEST_SUITE_END()
