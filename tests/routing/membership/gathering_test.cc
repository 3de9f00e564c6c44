#include "routing/membership/gathering.h"

#include <boost/test/unit_test.hpp>

#include "tests/routing/steps/orders_in.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;
using namespace std::chrono_literals;

namespace {

GatheringOptions options() {
  GatheringOptions o;
  o.steps = 20;
  o.start_grace = 1s;
  o.takeover_grace = 300ms;
  return o;
}

PeerReport nothing() { return {}; }
PeerReport state(uint64_t step, const std::vector<uint64_t>& snapshots = {}) {
  PeerReport report;
  report.has_state = true;
  report.step = report.open_step = Step(step);
  report.snapshots = std::vector<Step>(snapshots.begin(), snapshots.end());
  report.checksum = 7;
  return report;
}
PeerReport stored(const std::vector<uint64_t>& snapshots) {
  PeerReport report;
  report.snapshots = std::vector<Step>(snapshots.begin(), snapshots.end());
  return report;
}

/// Two stages; a coordinator that took over at 100 s.
template <class Kind = Gathering>
struct Swarm {
  Roster roster{2};
  Kind gathering;
  Time now = 100s;

  explicit Swarm(const GatheringOptions& o = options()) : gathering(o, roster) {
    gathering.begin("a test", std::nullopt, now);
  }
  void report(uint32_t n, uint32_t stage, const PeerReport& report) {
    if (roster.report(peer(n), Stage(stage), "n" + std::to_string(n), report))
      gathering.newcomer(now);
    roster.find(peer(n))->reachable = true;
  }
  Orders next(Time later = 2s) { return gathering.next(now += later); }
  Verdict::Kind admit(uint32_t n) { return gathering.admit(peer(n)).kind; }
  std::optional<Step> opened(Time later = 0s) {
    const auto orders = all_of<orders::Open>(next(later));
    return orders.empty() ? std::nullopt : std::optional<Step>(orders[0].step);
  }
};

using Told = Verdict::Kind;

}  // namespace

BOOST_AUTO_TEST_SUITE(GatheringOfASwarm)

BOOST_AUTO_TEST_CASE(a_fresh_swarm_draws_its_weights_and_opens_step_0) {
  Swarm<> swarm;
  swarm.report(1, 0, nothing());
  BOOST_TEST(!has<orders::AskToRegister>(swarm.next()));  // stage 1 is empty
  swarm.report(2, 1, nothing());
  BOOST_TEST(!has<orders::AskToRegister>(swarm.next(500ms)));  // another may come
  BOOST_TEST(has<orders::AskToRegister>(swarm.next(500ms)));
  BOOST_TEST((swarm.admit(1) == Told::kInitialise));
  swarm.report(1, 0, state(0));
  BOOST_TEST((swarm.admit(1) == Told::kServe));
  BOOST_TEST(!swarm.opened().has_value());
  swarm.report(2, 1, state(0));
  swarm.admit(2);
  BOOST_TEST((swarm.opened() == std::optional<Step>(0)));
}

// It took it from the mirror; the plan that all begin at step 0 stood, and it drew its weights at last.
BOOST_AUTO_TEST_CASE(a_snapshot_that_is_found_late_ends_the_plan_to_begin_at_step_0) {
  Swarm<> swarm;
  swarm.report(1, 0, nothing());
  swarm.report(2, 1, nothing());
  swarm.next();
  BOOST_TEST((swarm.admit(1) == Told::kInitialise));
  swarm.report(1, 0, stored({0}));  // drawn, by another peer of the stage
  BOOST_TEST((swarm.admit(1) == Told::kInitialise));
  swarm.report(1, 0, stored({0, 8}));
  BOOST_TEST((swarm.admit(1) == Told::kWait));
  swarm.next();
  BOOST_TEST((swarm.admit(2) == Told::kWait));  // it has nothing of step 8
  swarm.report(2, 1, stored({8}));
  swarm.next();
  BOOST_TEST((swarm.admit(1) == Told::kRestoreOwn));
  BOOST_TEST((swarm.admit(2) == Told::kRestoreOwn));
}

// A learner, or one that has loaded a snapshot: it has the step and knows not what led there.
BOOST_AUTO_TEST_CASE(the_norm_of_a_half_committed_step_is_asked_of_who_knows_it) {
  Swarm<> swarm;
  PeerReport ahead = state(5), came = state(5), behind = state(4);
  ahead.round = behind.round = Round((uint64_t{3} << 32) | 8);
  ahead.last_gradient_norm = 1.5;
  came.state_came = true;
  came.last_gradient_norm = 0;
  behind.has_average = true;
  swarm.report(1, 0, ahead);
  swarm.report(2, 1, behind);
  swarm.report(3, 0, came);
  const auto commits = all_of<orders::CommitStep>(swarm.next());
  BOOST_REQUIRE(commits.size() == 1u);
  BOOST_TEST(commits[0].gradient_norm == 1.5);
}

BOOST_AUTO_TEST_CASE(nobody_is_told_to_commit_what_nobody_knows_the_norm_of) {
  Swarm<> swarm;
  PeerReport came = state(5), behind = state(4);
  came.state_came = true;
  behind.has_average = true;
  swarm.report(1, 0, came);
  swarm.report(2, 1, behind);
  BOOST_TEST(!has<orders::CommitStep>(swarm.next()));
}

BOOST_AUTO_TEST_CASE(a_half_committed_step_is_finished_by_the_successor) {
  Swarm<> swarm;
  PeerReport ahead = state(5);
  ahead.round = Round((uint64_t{3} << 32) | 9);
  ahead.last_gradient_norm = 1.5;
  ahead.history = History(70);
  PeerReport behind = state(4);
  behind.has_average = true;
  behind.round = Round((uint64_t{3} << 32) | 8);
  swarm.report(1, 0, ahead);
  swarm.report(2, 1, behind);
  const auto commits = all_of<orders::CommitStep>(swarm.next());
  BOOST_REQUIRE(commits.size() == 1u);
  BOOST_TEST(commits[0].peer == peer(2));
  BOOST_TEST(commits[0].step == Step(4));
  BOOST_TEST(commits[0].round == behind.round);
  BOOST_TEST(commits[0].gradient_norm == 1.5);
  BOOST_TEST(commits[0].after == History(70));
  BOOST_TEST(!has<orders::CommitStep>(swarm.next()));  // its answer is waited for
}

// It was cut off in a round that was abandoned and done again without it: its average is of other members.
BOOST_AUTO_TEST_CASE(who_has_the_average_of_an_abandoned_round_is_not_told_to_commit_it) {
  for (const uint64_t has : {8, 10}) {
    Swarm<> swarm;
    const auto round = [](uint64_t number) { return Round((uint64_t{3} << 32) | number); };
    PeerReport ahead = state(5), behind = state(4);
    ahead.round = round(7);
    ahead.history = History(70);
    ahead.commit_rounds = {round(7), round(10)};
    behind.has_average = true;
    behind.round = round(has);
    swarm.report(1, 0, ahead);
    swarm.report(2, 1, behind);
    const auto commits = all_of<orders::CommitStep>(swarm.next());
    BOOST_TEST(commits.size() == (has == 10 ? 1u : 0u));
    for (const auto& commit : commits) BOOST_TEST((commit.rounds == ahead.commit_rounds));
  }
}

BOOST_AUTO_TEST_CASE(the_swarm_opens_with_the_history_of_the_plan) {
  Swarm<> swarm;
  PeerReport most = state(5), other = state(5), unknown = state(5);
  most.history = History(70);
  other.history = History(71);
  swarm.report(1, 0, most);
  swarm.report(2, 0, most);
  swarm.report(3, 0, other);
  swarm.report(4, 1, unknown);
  swarm.next();
  BOOST_TEST((swarm.admit(1) == Told::kServe));
  BOOST_TEST((swarm.admit(4) == Told::kServe));
  const Verdict told = swarm.gathering.admit(peer(3));
  BOOST_TEST((told.kind == Told::kFetch));
  BOOST_TEST(told.reason == kOtherHistory);
  BOOST_TEST((told.sources == std::vector{peer(1), peer(2)}));
  const auto opened = all_of<orders::Open>(swarm.next());
  BOOST_REQUIRE(opened.size() == 1u);
  BOOST_TEST(opened[0].history == History(70));
}

BOOST_AUTO_TEST_CASE(a_snapshot_of_another_history_is_not_read) {
  Swarm<> swarm;
  PeerReport one = stored({4}), two = stored({4, 6}), other = stored({4});
  one.snapshot_histories[Step(4)] = two.snapshot_histories[Step(4)] = History(70);
  other.snapshot_histories[Step(4)] = History(71);
  swarm.report(1, 0, one);
  swarm.report(2, 1, two);
  swarm.report(3, 1, other);
  swarm.next();
  BOOST_TEST((swarm.admit(1) == Told::kRestoreOwn));
  BOOST_TEST((swarm.admit(2) == Told::kRestoreOwn));
  BOOST_TEST((swarm.admit(3) == Told::kFetch));
}

BOOST_AUTO_TEST_CASE(an_average_of_another_history_is_not_committed) {
  Swarm<> swarm;
  PeerReport ahead = state(5, {4});
  ahead.round = Round((uint64_t{3} << 32) | 9);
  PeerReport behind = state(4);
  behind.has_average = true;
  behind.round = Round((uint64_t{2} << 32) | 8);
  swarm.report(1, 0, ahead);
  swarm.report(2, 1, behind);
  BOOST_TEST(!has<orders::CommitStep>(swarm.next()));
  BOOST_TEST((swarm.gathering.planned_step() == std::optional<Step>(4)));
}

BOOST_AUTO_TEST_CASE(a_stage_that_lost_all_its_peers_before_any_snapshot_is_drawn_again) {
  Swarm<> swarm;
  swarm.report(1, 0, state(0));
  swarm.report(2, 1, nothing());
  swarm.next();
  BOOST_TEST((swarm.admit(2) == Told::kInitialise));
}

BOOST_AUTO_TEST_CASE(a_swarm_killed_before_any_snapshot_does_not_begin_again_without_a_word) {
  Swarm<> swarm;
  swarm.gathering.opened();  // it has trained
  swarm.gathering.begin("everybody was killed", Step(3), swarm.now);
  swarm.report(1, 0, nothing());
  swarm.report(2, 1, nothing());
  BOOST_TEST(!has<orders::AskToRegister>(swarm.next(10s)));
  BOOST_TEST(swarm.gathering.waiting_for().find("snapshot") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_torn_snapshot_is_not_planned_with_again) {
  Swarm<> swarm;
  swarm.report(1, 0, stored({6, 4}));
  swarm.report(2, 1, stored({6, 4}));
  swarm.next();
  BOOST_TEST((swarm.gathering.planned_step() == std::optional<Step>(6)));
  swarm.report(1, 0, stored({4}));  // it could not read the other one
  BOOST_TEST((swarm.admit(1) == Told::kWait));
  swarm.next();
  BOOST_TEST((swarm.gathering.planned_step() == std::optional<Step>(4)));
}

BOOST_AUTO_TEST_CASE(half_of_the_swarm_or_less_waits_a_while_for_the_others) {
  Swarm<> swarm;
  PeerReport one_of_four = state(5);
  one_of_four.swarm_peers = 4;
  swarm.report(1, 0, one_of_four);
  swarm.report(2, 1, one_of_four);
  swarm.next(19s);
  BOOST_TEST(!swarm.gathering.planned_step().has_value());
  BOOST_TEST(swarm.gathering.waiting_for().find("2 of 4") != std::string::npos);
  const auto recovered = noted<facts::Recovered>(swarm.next(1s));
  BOOST_REQUIRE(recovered.size() == 1u);
  BOOST_TEST((recovered[0].present == std::optional<size_t>(2)));
  BOOST_TEST((recovered[0].before == std::optional<size_t>(4)));
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_hears_few_peers_does_not_begin_step_0) {
  GatheringOptions few = options();
  few.min_peers = 3;
  Swarm<> swarm(few);
  swarm.report(1, 0, nothing());
  swarm.report(2, 1, nothing());
  BOOST_TEST(!has<orders::AskToRegister>(swarm.next(60s)));
  swarm.report(3, 1, nothing());
  BOOST_TEST(has<orders::AskToRegister>(swarm.next()));
  for (uint32_t n : {1u, 2u}) swarm.report(n, n - 1, state(0)), swarm.admit(n);
  BOOST_TEST(!swarm.opened().has_value());  // the third may follow another coordinator by now
  swarm.report(3, 1, state(0));
  swarm.admit(3);
  BOOST_TEST(swarm.opened().has_value());
}

BOOST_AUTO_TEST_CASE(going_back_from_what_only_some_stages_have_is_said) {
  Swarm<> swarm;
  swarm.report(1, 0, state(9, {4}));  // from the other part of a divided network
  swarm.report(2, 1, state(4));
  const auto recovered = noted<facts::Recovered>(swarm.next());
  BOOST_REQUIRE(recovered.size() == 1u);
  BOOST_TEST((recovered[0].from_step == std::optional<Step>(9)));
}

BOOST_AUTO_TEST_CASE(a_takeover_at_the_same_step_goes_on_without_a_word) {
  Swarm<> swarm;
  swarm.report(1, 0, state(4));
  swarm.report(2, 1, state(4));
  const auto orders = swarm.next();
  BOOST_TEST(noted<facts::Recovered>(orders).empty());
  BOOST_TEST((swarm.gathering.planned_step() == std::optional<Step>(4)));
}

BOOST_AUTO_TEST_CASE(a_step_number_that_goes_back_is_said) {
  Swarm<> swarm;
  swarm.gathering.opened();
  swarm.gathering.begin("a stage has lost all its peers", Step(8), swarm.now);
  swarm.report(1, 0, state(8, {6}));
  swarm.report(2, 1, stored({6}));
  const auto recovered = noted<facts::Recovered>(swarm.next());
  BOOST_REQUIRE(recovered.size() == 1u);
  BOOST_TEST((recovered[0].from_step == std::optional<Step>(8)));
  BOOST_TEST(recovered[0].reason == "a stage has lost all its peers");
}

BOOST_AUTO_TEST_CASE(who_is_known_and_silent_is_waited_for_as_long_as_a_link_may_be_silent) {
  GatheringOptions slow = options();
  slow.report_patience = 30s;  // links.silence_limit_ms of slow links
  Swarm<> swarm(slow);
  for (uint32_t n : {1u, 2u, 3u}) swarm.report(n, n % 2, state(4));
  swarm.gathering.begin("again", Step(4), swarm.now);
  swarm.report(1, 1, state(4));
  swarm.report(2, 0, state(4));
  swarm.next(29s);
  BOOST_TEST(!swarm.gathering.planned_step().has_value());
  BOOST_TEST(swarm.gathering.waiting_for().find("n3") != std::string::npos);
  swarm.next(1s);
  BOOST_TEST(swarm.gathering.planned_step().has_value());
}

BOOST_AUTO_TEST_CASE(no_common_step_is_said_once) {
  Swarm<> swarm;
  swarm.report(1, 0, stored({6}));
  swarm.report(2, 1, stored({4}));
  BOOST_TEST(noted<facts::CannotGoOn>(swarm.next()).size() == 1u);
  BOOST_TEST(noted<facts::CannotGoOn>(swarm.next()).empty());
}

BOOST_AUTO_TEST_CASE(who_comes_after_the_plan_waits_and_who_leaves_has_it_made_anew) {
  Swarm<> swarm;
  swarm.report(1, 0, state(4));
  swarm.report(2, 1, state(4));
  swarm.next();
  swarm.report(3, 1, nothing());
  BOOST_TEST((swarm.admit(3) == Told::kWait));
  swarm.gathering.plan_anew();
  BOOST_TEST(!swarm.gathering.planned_step().has_value());
}

// The copy's node has its own stage's state of that step in memory, which is not what is asked for.
BOOST_AUTO_TEST_CASE(a_lost_stage_fetches_a_copy_of_exactly_that_step) {
  Swarm<> swarm;
  PeerReport keeper = state(6, {4});
  keeper.copies = {{Stage(1), Step(6)}, {Stage(1), Step(4)}};
  swarm.report(1, 0, keeper);
  swarm.report(2, 1, nothing());
  swarm.next();
  auto verdict = swarm.gathering.admit(peer(2));
  BOOST_TEST((verdict.kind == Told::kFetch));
  BOOST_TEST(verdict.exact);
  BOOST_TEST(verdict.from_copies);
  BOOST_TEST((verdict.step == Step(6)));
  BOOST_TEST((verdict.sources == std::vector<PeerId>{peer(1)}));
  keeper.copies.erase(keeper.copies.begin());  // it could not be read
  swarm.report(1, 0, keeper);
  BOOST_TEST((swarm.admit(2) == Told::kWait));
  swarm.next();
  BOOST_TEST((swarm.admit(1) == Told::kRestoreOwn));
  verdict = swarm.gathering.admit(peer(2));
  BOOST_TEST((verdict.kind == Told::kFetch));
  BOOST_TEST((verdict.step == Step(4)));
}

BOOST_AUTO_TEST_CASE(gatherings_of_a_term_are_counted) {
  Swarm<> swarm;
  BOOST_TEST(swarm.gathering.count() == 1u);
  swarm.gathering.begin("again", Step(1), swarm.now);
  BOOST_TEST(swarm.gathering.count() == 2u);
  swarm.gathering.new_term();
  BOOST_TEST(swarm.gathering.count() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(GatheringAtTheirOwnPace)

BOOST_AUTO_TEST_CASE(stages_go_on_from_where_they_are) {
  Swarm<GatheringByPeriod> swarm;
  swarm.report(1, 0, state(9));
  swarm.report(2, 1, state(8));
  swarm.next();
  BOOST_TEST((swarm.admit(1) == Told::kServe));
  BOOST_TEST((swarm.admit(2) == Told::kServe));
  BOOST_TEST((swarm.opened() == std::optional<Step>(9)));
}

BOOST_AUTO_TEST_CASE(a_lost_stage_fetches_exactly_its_newest_copy) {
  Swarm<GatheringByPeriod> swarm;
  PeerReport keeper = state(9);
  keeper.copies = {{Stage(1), Step(6)}};
  swarm.report(1, 0, keeper);
  swarm.report(2, 1, nothing());
  swarm.next();
  const auto verdict = swarm.gathering.admit(peer(2));
  BOOST_TEST((verdict.kind == Told::kFetch));
  BOOST_TEST(verdict.exact);
  BOOST_TEST(verdict.from_copies);
  BOOST_TEST((verdict.step == Step(6)));
}

BOOST_AUTO_TEST_CASE(the_last_averaging_waits_for_all_who_are_here) {
  Swarm<GatheringByPeriod> swarm;
  swarm.report(1, 0, state(20));
  swarm.report(2, 1, state(20));
  swarm.report(3, 1, state(20));
  swarm.next();
  swarm.admit(1);
  swarm.admit(2);
  BOOST_TEST(!swarm.opened().has_value());
  swarm.admit(3);
  BOOST_TEST((swarm.opened() == std::optional<Step>(20)));
}

// A bit of its memory had turned, and it alone had applied the last update when the swarm gathered.
BOOST_AUTO_TEST_CASE(who_found_its_state_changed_is_no_source_while_another_has_one) {
  Swarm<> swarm;
  auto changed = state(4, {3, 4});
  changed.changed_at_rest = true;
  swarm.report(1, 0, changed);
  swarm.report(2, 0, state(3, {3}));
  swarm.report(3, 1, state(4, {3, 4}));
  (void)swarm.next();
  BOOST_TEST((swarm.gathering.planned_step() == Step(3)));
  BOOST_TEST((swarm.admit(2) == Told::kServe));
  const Verdict told = swarm.gathering.admit(peer(1));
  BOOST_TEST((told.kind == Told::kRestoreOwn && told.step == Step(3)));
}

BOOST_AUTO_TEST_CASE(a_state_that_changed_is_better_than_none) {
  Swarm<> swarm;
  auto changed = state(4);
  changed.changed_at_rest = true;
  swarm.report(1, 0, changed);
  swarm.report(2, 0, nothing());
  swarm.report(3, 1, state(4));
  (void)swarm.next();
  BOOST_TEST((swarm.gathering.planned_step() == Step(4)));
}

BOOST_AUTO_TEST_CASE(of_two_that_differ_where_the_swarm_gathers_the_one_that_changed_goes) {
  Swarm<> swarm;
  auto changed = state(4);
  changed.changed_at_rest = true;
  changed.checksum = 8;
  swarm.report(1, 0, changed);
  swarm.report(2, 0, state(4));
  swarm.report(3, 1, state(4));
  const auto notes = noted<facts::ReplicaReplaced>(swarm.next());
  BOOST_REQUIRE(notes.size() == 1u);
  BOOST_TEST((notes[0].replica.peer == peer(1) && notes[0].right == 7u));
  BOOST_TEST((swarm.admit(1) != Told::kServe));
  BOOST_TEST((swarm.admit(2) == Told::kServe));
  BOOST_TEST((swarm.admit(1) == Told::kFetch));
}

// Two parts had trained to the end before they met, and one of them was taken for a damaged replica.
BOOST_AUTO_TEST_CASE(states_of_another_history_are_not_compared) {
  Swarm<> swarm;
  const auto of = [](uint64_t history, uint64_t checksum) {
    auto report = state(4);
    report.history = History(history);
    report.checksum = checksum;
    return report;
  };
  swarm.report(1, 0, of(10, 7));
  swarm.report(2, 0, of(11, 8));
  swarm.report(3, 0, of(10, 7));
  swarm.report(4, 1, of(10, 7));
  const auto orders = swarm.next();
  BOOST_TEST((swarm.gathering.planned_step() == Step(4)));
  BOOST_TEST(noted<facts::ReplicaReplaced>(orders).empty());
  BOOST_TEST(noted<facts::ReplicasCompared>(orders).empty());
  BOOST_TEST((swarm.admit(1) == Told::kServe));
  BOOST_TEST((swarm.admit(2) == Told::kFetch));
}

BOOST_AUTO_TEST_SUITE_END()
