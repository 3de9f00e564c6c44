// Seeds that no run has seen before: others every day, the same all day long. What fails is told with its
// seed and flags for `swarm sim`.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdint>

#include "apps/sim/simulation.h"

using namespace swarm::sim;

namespace {

#ifndef SWARM_SIM_FRESH_SEEDS
#define SWARM_SIM_FRESH_SEEDS 200
#endif
constexpr uint64_t kFresh = SWARM_SIM_FRESH_SEEDS;
/// Above all that were ever recorded; so many a day, or days would share some.
constexpr uint64_t kFirst = 1'000'000'000, kADay = 1'000;
static_assert(kFresh <= kADay);

uint64_t first_of_today() {
  using Days = std::chrono::duration<uint64_t, std::ratio<86'400>>;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return kFirst + kADay * std::chrono::duration_cast<Days>(since_epoch).count();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(FreshSeeds)

BOOST_AUTO_TEST_CASE(seeds_of_today_cost_time_only) {
  const uint64_t first = first_of_today();
  BOOST_TEST_MESSAGE("fresh seeds " << first << ".." << first + kFresh - 1);
  const auto profiles = all_profiles();
  for (uint64_t i = 0; i < kFresh; ++i) {
    SimulationOptions options;
    options.seed = first + i;
    options.profile = profiles[i % profiles.size()];
    options.delayed_updates = i / profiles.size() % 3 == 1;
    // Forced parts that meet may stand still then (docs/simulation.md, "Open").
    options.asynchronous = i / profiles.size() % 3 == 2 && options.profile != FaultProfile::kForced;
    const auto report = simulate(options);
    if (report.violation) BOOST_ERROR(explain(report));
  }
}

BOOST_AUTO_TEST_SUITE_END()
