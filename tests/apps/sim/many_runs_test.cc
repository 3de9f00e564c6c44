#include "apps/sim/many_runs.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>

using namespace swarm::sim;

namespace {

RunLine line_of(uint64_t seed, double lost_s) {
  RunLine line;
  line.seed = seed;
  line.faults = 2;
  line.lost_s = lost_s;
  return line;
}

/// What run_seeds() gives for runs that crash or find something, as text.
std::string story(uint32_t jobs, uint64_t from, uint64_t to) {
  std::string all;
  const auto run = [](uint64_t seed, std::string& text) {
    text = "run " + std::to_string(seed);
    RunLine line = line_of(seed, 0);
    line.violated = seed % 5 == 0;
    return line;
  };
  run_seeds(from, to, jobs, run, [&](const RunLine& line, const std::string& text) {
    all += text + (line.violated ? "! " : " ") + std::to_string(line.seed) + "\n";
  });
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ManyRuns)

BOOST_AUTO_TEST_CASE(any_number_of_jobs_gives_the_same_lines_in_the_same_order) {
  const std::string alone = story(1, 3, 20);
  BOOST_TEST(alone.find("run 3 3\nrun 4 4\nrun 5! 5\n") == 0u);
  for (const uint32_t jobs : {2u, 3u, 40u}) BOOST_TEST(story(jobs, 3, 20) == alone);
  BOOST_TEST(story(4, UINT64_MAX - 2, UINT64_MAX) == story(1, UINT64_MAX - 2, UINT64_MAX));
}

BOOST_AUTO_TEST_CASE(simulated_runs_are_the_same_in_processes_of_their_own) {
  const auto hashes = [](uint32_t jobs) {
    std::string all;
    const auto run = [](uint64_t seed, std::string& text) {
      SimulationOptions options;
      options.seed = seed;
      text = std::to_string(simulate(options).hash);
      return line_of(seed, 0);
    };
    run_seeds(1, 4, jobs, run,
              [&](const RunLine&, const std::string& text) { all += text + "\n"; });
    return all;
  };
  BOOST_TEST(hashes(2) == hashes(1));
}

BOOST_AUTO_TEST_CASE(a_run_that_crashes_is_told_with_its_seed_and_takes_no_other_with_it) {
  std::vector<uint64_t> crashed;
  uint64_t runs = 0;
  std::string told;
  const auto run = [](uint64_t seed, std::string&) {
    if (seed == 4 || seed == 9 || seed == 10) std::_Exit(seed == 4 ? 3 : 4);
    return line_of(seed, 0);
  };
  run_seeds(1, 10, 2, run, [&](const RunLine& line, const std::string& text) {
    ++runs;
    if (line.crashed) crashed.push_back(line.seed);
    told += text;
  });
  BOOST_TEST(runs == 10u);
  BOOST_TEST(crashed == (std::vector<uint64_t>{4, 9, 10}), boost::test_tools::per_element());
  BOOST_TEST(told.find("seed 4: the run crashed, exit code 3") == 0u);
}

BOOST_AUTO_TEST_CASE(the_summary_tells_median_and_worst_of_what_faults_cost) {
  RunsSummary summary;
  for (const auto& [seed, lost_s] : std::map<uint64_t, double>{{1, 0.5}, {2, 9}, {3, NAN}, {4, 1}})
    summary.add(line_of(seed, lost_s));
  const std::string text = summary.text("kills", 8);
  BOOST_TEST(text.find("kills      runs 4, violations 0, faults 8") == 0u);
  BOOST_TEST(text.find("seconds lost per fault 1.00 median, 9.00 worst (seed 2)") !=
             std::string::npos);
  BOOST_TEST(text.find("2.00 a run") != std::string::npos);
  BOOST_TEST(text.find("lost for good") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_without_faults_has_lost_nothing_and_is_not_counted) {
  SimulationOptions options;
  options.profile = FaultProfile::kNone;
  BOOST_TEST(std::isnan(lost_per_fault(options, simulate(options))));
  options.profile = FaultProfile::kPauses;
  options.seed = 9;
  const auto report = simulate(options);
  BOOST_REQUIRE(report.faults >= 1u);
  BOOST_TEST(!std::isnan(lost_per_fault(options, report)));
}

BOOST_AUTO_TEST_SUITE_END()
