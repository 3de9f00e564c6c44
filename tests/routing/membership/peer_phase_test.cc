#include "routing/membership/peer_phase.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;

namespace {

using At = PeerPhase::At;
using Leaving = PeerPhase::Leaving;

PeerPhase phase_at(At at) {
  PeerPhase phase;
  phase.enter(at);
  return phase;
}

PeerProgress at_step(uint64_t step) { return {true, Step(step), Step(step), Step(step)}; }
/// Delayed updates: the open step is computed on parameters that miss the last update.
PeerProgress ahead(uint64_t step) { return {true, Step(step), Step(step - 1), Step(step - 1)}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(PeerPhaseTest)

// Told to leave while it loaded, a peer registered when the loading ended, and served again.
BOOST_AUTO_TEST_CASE(draining_is_final) {
  for (At at : {At::kStarting, At::kRegistering, At::kLoading, At::kLearning, At::kServing}) {
    PeerPhase phase = phase_at(at);
    phase.leave(/*has_state=*/true);
    for (At to : {At::kRegistering, At::kLoading, At::kServing}) BOOST_TEST(!phase.enter(to));
    BOOST_TEST((phase.at() == At::kDraining));
    BOOST_TEST(!phase.registers());
  }
}

// The second asker was told at once that the node may be ended.
BOOST_AUTO_TEST_CASE(nobody_may_go_before_the_last_snapshot_is_durable) {
  PeerPhase phase = phase_at(At::kServing);
  BOOST_TEST((phase.leave(true) == Leaving::kSave));
  BOOST_TEST((phase.leave(true) == Leaving::kWait));
  phase.saved();
  BOOST_TEST((phase.leave(true) == Leaving::kGone));
}

BOOST_AUTO_TEST_CASE(without_a_state_nothing_is_written) {
  PeerPhase phase = phase_at(At::kRegistering);
  BOOST_TEST((phase.leave(false) == Leaving::kGone));
  BOOST_TEST((phase.leave(true) == Leaving::kGone));
}

BOOST_AUTO_TEST_CASE(only_those_that_are_ready_register) {
  BOOST_TEST(!phase_at(At::kStarting).registers());
  BOOST_TEST(phase_at(At::kRegistering).registers());
  BOOST_TEST(!phase_at(At::kLoading).registers());
  BOOST_TEST(phase_at(At::kLearning).registers());  // it may take long
  BOOST_TEST(phase_at(At::kServing).registers());
}

BOOST_AUTO_TEST_CASE(who_asks_hears_whether_waiting_helps) {
  BOOST_TEST(phase_at(At::kLoading).refusal().code == ErrorCode::kNotReady);
  BOOST_TEST(phase_at(At::kLoading).refusal().retry_after_ms > 0u);
  BOOST_TEST(phase_at(At::kDraining).refusal().code == ErrorCode::kShuttingDown);
}

BOOST_AUTO_TEST_CASE(entering_where_it_is_is_no_change) {
  PeerPhase phase = phase_at(At::kServing);
  BOOST_TEST(!phase.enter(At::kServing));
  BOOST_TEST(phase.enter(At::kRegistering));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ServeInStepsTest)

BOOST_AUTO_TEST_CASE(a_peer_at_the_step_serves) {
  BOOST_TEST((serve_in_steps(at_step(5), false, Step(5), Step(5)) == Serve::kServe));
  BOOST_TEST((serve_in_steps(at_step(5), true, Step(5), Step(5)) == Serve::kServe));
}

BOOST_AUTO_TEST_CASE(without_a_state_it_does_not) {
  BOOST_TEST((serve_in_steps({}, false, Step(0), Step(0)) == Serve::kIgnore));
}

BOOST_AUTO_TEST_CASE(a_verdict_overtaken_by_a_commit_is_ignored) {
  BOOST_TEST((serve_in_steps(at_step(6), true, Step(5), Step(5)) == Serve::kIgnore));
  BOOST_TEST((serve_in_steps(ahead(6), true, Step(5), Step(5)) == Serve::kIgnore));
}

BOOST_AUTO_TEST_CASE(with_a_delayed_update_it_goes_on_while_it_serves) {
  BOOST_TEST((serve_in_steps(ahead(6), true, Step(5), Step(6)) == Serve::kServe));
}

// The open step's sum was computed on parameters of the old coordinator's history.
BOOST_AUTO_TEST_CASE(to_a_new_coordinator_it_gives_up_what_it_computed_ahead) {
  PeerProgress peer = ahead(6);
  peer.applied = Step(6);  // the delayed update came, the sum is of before it
  BOOST_TEST(peer.computed_ahead());
  BOOST_TEST((serve_in_steps(peer, false, Step(6), Step(6)) == Serve::kCollapse));
  BOOST_TEST((serve_in_steps(ahead(6), false, Step(5), Step(5)) == Serve::kCollapse));
}

BOOST_AUTO_TEST_SUITE_END()
