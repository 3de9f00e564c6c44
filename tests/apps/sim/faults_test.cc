#include "apps/sim/faults.h"

#include <boost/test/unit_test.hpp>

#include "apps/sim/simulation.h"
#include "tests/support/sanitized.h"

using namespace swarm;
using namespace swarm::sim;

BOOST_AUTO_TEST_SUITE(FaultTable)

BOOST_AUTO_TEST_CASE(every_profile_has_one_row_whose_name_leads_back_to_it) {
  std::set<std::string> names;
  for (const FaultProfile profile : all_profiles()) {
    const std::string name = to_string(profile);
    BOOST_TEST(names.insert(name).second, name);
    BOOST_REQUIRE(parse_profile(name).ok());
    BOOST_TEST((*parse_profile(name) == profile), name);
    BOOST_TEST(profiles_help().find(name + ": ") != std::string::npos, name);
  }
  const auto unknown = parse_profile("earthquakes");
  BOOST_REQUIRE(!unknown.ok());
  for (const auto& name : names)
    BOOST_TEST(unknown.error().detail.find(name) != std::string::npos, name);
}

/// Seeds up to here were recorded (kRegressions, docs/performance.md): whatever faults are added,
/// the same ones in the same order must be dealt to them, or their stories become others.
BOOST_AUTO_TEST_CASE(a_recorded_seed_is_dealt_the_faults_that_it_was_recorded_with) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{131'211}, uint64_t{999'999}}) {
    std::vector<std::string> dealt;
    for (const auto* kind : FaultInjector::dealt_to(seed)) dealt.emplace_back(kind->name);
    BOOST_TEST(
        dealt == (std::vector<std::string>{"kills", "pauses", "partitions", "network", "restarts"}),
        boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(faults_of_links_are_dealt_to_seeds_beyond_the_recorded_ones) {
  const auto dealt = FaultInjector::dealt_to(1'000'000);
  BOOST_REQUIRE(dealt.size() == 6u);
  BOOST_TEST(std::string(dealt.back()->name) == "links");
}

BOOST_AUTO_TEST_CASE(faults_that_last_are_dealt_to_seeds_beyond_those) {
  const auto dealt = FaultInjector::dealt_to(3'000'000);
  BOOST_REQUIRE(dealt.size() == 7u);
  BOOST_TEST(std::string(dealt.back()->name) == "lasting");
  BOOST_TEST(FaultInjector::dealt_to(2'999'999).size() == 6u);
}

BOOST_AUTO_TEST_CASE(faults_of_machines_are_dealt_to_seeds_beyond_those) {
  BOOST_TEST(FaultInjector::dealt_to(6'499'999).size() == 7u);
  std::vector<std::string> dealt;
  for (const auto* kind : FaultInjector::dealt_to(6'500'000)) dealt.emplace_back(kind->name);
  dealt.erase(dealt.begin(), dealt.begin() + 7);
  BOOST_TEST(dealt == (std::vector<std::string>{"roles", "disks", "drains", "moves", "orders",
                                                "not_finite"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(faults_of_bits_are_dealt_to_seeds_beyond_those) {
  const auto dealt = FaultInjector::dealt_to(7'600'000);
  BOOST_TEST(FaultInjector::dealt_to(7'599'999).size() + 1 == dealt.size());
  BOOST_TEST(std::string(dealt.back()->name) == "bits");
}

/// A kind that draws nothing would pass every test of the protocol.
BOOST_AUTO_TEST_CASE(each_kind_of_faults_happens,
                     *boost::unit_test::enable_if<!swarm::testing::kSanitized>()) {
  const std::map<FaultProfile, std::vector<std::string>> lines{
      {FaultProfile::kRoles, {"its role fails"}},
      {FaultProfile::kDisks,
       {"writes to its disk fail", "its disk is full", "its disk takes", "its disk is wiped",
        "its disk is as it was"}},
      {FaultProfile::kDrains, {"is told to leave", "has left in order"}},
      {FaultProfile::kMoves, {"moves to another address"}},
      {FaultProfile::kOrders, {"checkpoints are asked for"}},
      {FaultProfile::kNotFinite, {"its next gradient is not finite", "slot_skipped"}},
      {FaultProfile::kPlacement, {"goes from stage", "killed"}},
      {FaultProfile::kElastic, {"goes from stage", "is told to leave"}},
      {FaultProfile::kBits, {"a bit of its gradient sum turns", "of its newest snapshot turns"}},
      {FaultProfile::kKills, {"killed", "killed with its machine"}},
      {FaultProfile::kPauses, {"paused for"}},
      {FaultProfile::kPartitions, {"cut off from"}},
      {FaultProfile::kNetwork, {"network delay="}},
      {FaultProfile::kRestarts, {"killed"}},
      {FaultProfile::kLinks, {"links up=", "loses its way to", "and back", "reaches"}},
      {FaultProfile::kLasting, {"is cut off from", "cannot be dialled for good", "has no way to"}},
      {FaultProfile::kForced,
       {"two parts for", "told to go on", "one network again", "forced=yes"}},
  };
  for (const auto& [profile, expected] : lines) {
    std::string all;
    const bool often = profile < FaultProfile::kRoles || profile == FaultProfile::kForced;
    for (uint64_t seed = 6'500'001; seed <= (often ? 6'500'005 : 6'500'008); ++seed) {
      SimulationOptions options;
      options.seed = seed;
      options.profile = profile;
      for (const auto& line : simulate(options).events) all += line + "\n";
    }
    for (const auto& text : expected)
      BOOST_TEST((all.find(text) != std::string::npos), to_string(profile) << ": " << text);
  }
}

// The checks would call both wrong if nobody repaired them.
BOOST_AUTO_TEST_CASE(bits_of_parameters_and_moments_turn_and_are_repaired) {
  std::string all;
  for (uint64_t seed = 7'900'001; seed <= 7'900'012; ++seed) {
    SimulationOptions options;
    options.seed = seed;
    options.profile = FaultProfile::kBits;
    const auto report = simulate(options);
    BOOST_TEST(!report.violation.has_value(), "seed " << seed);
    for (const auto& line : report.events) all += line + "\n";
  }
  for (const std::string text :
       {"a bit of its parameters turns", "a bit of its moments turns", "replica_replaced"})
    BOOST_TEST((all.find(text) != std::string::npos), text);
}

BOOST_AUTO_TEST_SUITE_END()
