/// What a peer that missed a commit, and learns, can still do for its stage.
#include <boost/test/unit_test.hpp>

#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

struct MissedCommit : testing::SimSwarm {
  MissedCommit() {
    for (int stage = 0; stage < 3; ++stage)
      for (const char* replica : {"a", "b"})
        add_peer("stage" + std::to_string(stage) + replica, stage);
    add_trainer("trainer-a");
  }
  bool is(const ActorId& actor, const std::string& node) { return actor.node == nodes[node].id; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(MissedCommits, MissedCommit)

// It said that it had no average any more, and the swarm went back a step.
BOOST_AUTO_TEST_CASE(who_missed_a_commit_and_learns_can_still_make_the_update) {
  BOOST_TEST(run_to_step(1));
  net.set_filter([this](const NodeId&, const ActorId& to, const actors::Mail& mail) {
    const bool missed = mail.kind == proto::KIND_COMMIT_STEP &&
                        mail.as<proto::CommitStep>().step() == 3 && is(to, "stage2a");
    const bool held_up = mail.kind == proto::KIND_CLOSE_STEP &&
                         mail.as<proto::CloseStep>().step() == 4 && is(to, "stage2b");
    const bool asks = mail.kind == proto::KIND_STATE_RANGE;
    return missed || held_up || asks ? sim::Fate::kDrop : sim::Fate::kDeliver;
  });
  BOOST_REQUIRE(system.advance_until([this] { return events->count("learns") > 0; }, 300s, 1ms));
  BOOST_TEST(nodes["stage2a"].arithmetic->step() == 3u);
  BOOST_TEST(nodes["stage2b"].arithmetic->step() == 4u);
  kill("stage2b");
  net.set_filter({});
  BOOST_TEST(run_to_end());
  for (const auto& event : events->events)  // a peer is missing, but no step was given up
    if (event.name == "recovered") BOOST_TEST(event.step == 4, what(event));
  BOOST_TEST(check_parameters() == "");
  BOOST_TEST(checked == 5);
}

BOOST_AUTO_TEST_SUITE_END()
