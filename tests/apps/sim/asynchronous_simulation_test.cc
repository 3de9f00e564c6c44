// The asynchronous mode under faults drawn from seeds (docs/asynchronous.md).
#include <boost/test/unit_test.hpp>

#include "apps/sim/simulation.h"

using namespace swarm::sim;

namespace {

#ifndef SWARM_SIM_SEEDS
#define SWARM_SIM_SEEDS 20
#endif
constexpr uint64_t kSeeds = (SWARM_SIM_SEEDS + 4) / 5;

SimulationReport run(uint64_t seed, FaultProfile profile) {
  SimulationOptions options;
  options.seed = seed;
  options.profile = profile;
  options.asynchronous = true;
  return simulate(options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SimulationOfTheAsynchronousMode)

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_periods) {
  BOOST_TEST(run(7, FaultProfile::kAll).hash == run(7, FaultProfile::kAll).hash);
  BOOST_TEST(run(7, FaultProfile::kAll).hash != run(8, FaultProfile::kAll).hash);
}

BOOST_AUTO_TEST_CASE(periods_under_faults_go_on_to_the_end) {
  for (auto profile : all_profiles())
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      auto report = run(seed, profile);
      if (report.violation) BOOST_ERROR(explain(report));
    }
}

BOOST_AUTO_TEST_CASE(what_was_found_stays_fixed) {
  const std::pair<FaultProfile, uint64_t> found[] = {
      // A straggling microbatch updated one replica after the last averaging.
      {FaultProfile::kPartitions, 9},
      // A slot that was left out was said of the oldest open period, whose slot of that number counts.
      // -> a_slot_that_is_left_out_is_said_of_its_own_period
      {FaultProfile::kNotFinite, 6'500'009},
      // The checks did not know that samples count up to a limit after a takeover.
      // -> averages_count_samples_up_to_a_limit_of_whole_periods
      {FaultProfile::kKills, 6'200'077},
  };
  for (const auto& [profile, seed] : found) {
    auto report = run(seed, profile);
    if (report.violation) BOOST_ERROR(explain(report));
  }
}

BOOST_AUTO_TEST_SUITE_END()
