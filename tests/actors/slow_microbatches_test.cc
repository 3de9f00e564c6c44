// Microbatches that take longer than a lease: slow is not dead.
#include <boost/test/unit_test.hpp>

#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using swarm::testing::SimSwarm;

namespace {

/// Three stages of one peer each, whose every pass takes 4 s: five of them are a microbatch's way.
struct SlowSwarm : SimSwarm {
  SlowSwarm() {
    training.steps = 1;
    training.batch = 8;
    training.microbatch = 2;
    training.validation_samples = 2;
    coordinator_options.lease_limit = 12s;
    trainer_options.max_in_flight = 2;
    for (int stage = 0; stage < 3; ++stage) {
      const std::string name = "stage" + std::to_string(stage);
      swarm::sim::MachineTimes times;
      times.pass = 4s;
      swarm::sim::Swarm::add_peer(name, stage, times);
      start(name);
    }
    add_trainer("trainer");
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(SlowMicrobatches)

// The limit was a constant: what took longer was leased again and again.
BOOST_FIXTURE_TEST_CASE(a_slot_that_is_still_carried_is_not_taken_back, SlowSwarm) {
  BOOST_TEST(run_to_end(600s));
  BOOST_TEST(events->count("lease_expired") == 0u);
  BOOST_TEST(events->count("rerouted") == 0u);
  BOOST_REQUIRE(!events->steps.empty());
  BOOST_TEST(events->steps.front().slots == 4u);
  BOOST_TEST(events->steps.front().attempts == 4u);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(a_step_that_takes_long_says_that_it_goes_on, SlowSwarm) {
  BOOST_TEST(run_to_end(600s));
  BOOST_TEST(events->count("goes_on") >= 2u);
  BOOST_TEST(events->count("goes_on") <= 12u);
}

BOOST_FIXTURE_TEST_CASE(a_trainer_that_is_gone_holds_no_lease, SlowSwarm) {
  Swarm::add_trainer("other");
  start("other");
  system.advance(30s);
  kill("trainer");
  BOOST_TEST(run_to_end(600s));
  BOOST_TEST(check_parameters() == "");
}

BOOST_AUTO_TEST_SUITE_END()
