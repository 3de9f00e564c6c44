/// Asynchronous mode with real processes and a real model.
#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <random>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

BOOST_AUTO_TEST_SUITE(Asynchronous)

/// What every step's microbatch lost, and the validation at the end: of the parameters of all stages.
std::vector<std::string> losses(const RunFolder& run) {
  std::map<uint64_t, std::string> by_step;
  std::string validation;
  for (const auto& line : run.lines("metrics.jsonl")) {
    by_step[line.at("step")] = line.at("train_loss").dump();
    if (line.contains("validation_loss")) validation = line.at("validation_loss").dump();
  }
  std::vector<std::string> result;
  for (const auto& [step, loss] : by_step) result.push_back(loss);
  result.push_back(validation);
  return result;
}

/// One peer a stage, one microbatch under way: nothing is stale, so both modes are one computation.
BOOST_AUTO_TEST_CASE(one_microbatch_at_a_time_equals_the_synchronous_mode_bit_for_bit) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/alone.toml";
  std::ofstream(file) << "[run]\nname = \"tiny\"\nstall_limit_s = 40\n"
                         "[model]\nlayers = 2\nwidth = 32\nheads = 2\nffn = 64\nsequence = 32\n"
                         "[pipeline]\nstages = 2\n"
                         "[data]\ntrain = [\"/usr/share/common-licenses\"]\n"
                         "[training]\nsteps = 30\nbatch = 4\nmicrobatch = 4\n"
                         "validation_samples = 4\n"
                         "[optimizer]\nlearning_rate = 3e-3\nwarmup_steps = 10\nclip_norm = 0\n"
                         "[node]\nthreads = 1\n[trainer]\nmax_in_flight = 1\n"
                         "[[nodes]]\nname = \"s0\"\nstages = [0]\n"
                         "[[nodes]]\nname = \"s1\"\nstages = [1]\n"
                         "[[nodes]]\nname = \"t\"\ntrainer = true\n";
  std::map<std::string, std::vector<std::string>> found;
  for (const std::string mode : {"sync", "async"}) {
    const std::string runs = folder.path() + "/" + mode;
    Process process({"run", file, "--set", "run.folder=" + runs, "--set", "training.mode=" + mode},
                    folder.path() + "/" + mode + ".txt");
    BOOST_REQUIRE_MESSAGE(process.wait() == 0, process.output());
    found[mode] = losses(newest_run(runs));
  }
  BOOST_TEST(found["sync"].size() > 30u);
  BOOST_TEST(found["async"] == found["sync"], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(kills_neither_stop_it_nor_make_it_diverge) {
  TemporaryFolder folder;
  Process process({"run", tiny_config(), "--set", "run.folder=" + folder.path(), "--set",
                   "training.mode=async", "--set", "training.steps=300", "--set",
                   "training.background_averaging=true", "--set", "optimizer.kind=nag"},
                  folder.path() + "/output.txt");
  RunFolder run = newest_run(folder.path());
  for (const std::string& victim : {std::string("s0-a"), std::string("s1-b")}) {
    const int64_t from = run.steps_closed();
    BOOST_REQUIRE(
        wait_until([&] { return run.steps_closed() >= from + 20 || !process.running(); }));
    ::kill(run.pid(victim), SIGKILL);
  }
  const std::string coordinator = run.coordinator();
  ::kill(run.pid(coordinator), SIGKILL);
  BOOST_REQUIRE_MESSAGE(process.wait() == 0, process.output());
  BOOST_TEST(run.events("replicas_differ").empty());
  const auto lines = run.lines("metrics.jsonl");
  BOOST_REQUIRE(lines.size() >= 300u);
  double first = 0, last = 0;
  for (size_t i = 0; i < 10; ++i) {
    first += lines[i].value("train_loss", 0.0) / 10;
    last += lines[lines.size() - 12 + i].value("train_loss", 99.0) / 10;
  }
  BOOST_TEST(last < first - 1.0);
  bool stale = false;
  for (const auto& line : lines) stale |= line.contains("staleness");
  BOOST_TEST(stale);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
