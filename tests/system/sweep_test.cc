/// `swarm sweep` with real runs: stopped in the middle, gone on with, one of its runs failing.
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 60;

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct TinySweep {
  TinySweep() {
    std::ofstream file(folder.path() + "/tiny-sweep.toml");
    file << "[sweep]\nbase = \"" << tiny_config() << "\"\nseeds = [5]\n"
         << "[set]\ntraining.steps = " << kSteps << "\ncheckpoint.every_steps = 5\n"
         << "[[variant]]\nname = \"broken\"\ndata.train = [\"/nowhere\"]\n"
         << "[[variant]]\nname = \"fine\"\nnodes.s0-a.delay_s = 0.01\n";
  }

  std::unique_ptr<Process> start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"sweep", folder.path() + "/tiny-sweep.toml", "--output",
                                          out()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Process>(
        arguments, folder.path() + "/output-" + std::to_string(++starts) + ".txt");
  }

  std::string out() const { return folder.path() + "/out"; }
  Json state(const std::string& cell) const {
    const Json json = Json::parse(read(out() + "/state.json"), nullptr, false);
    return json.is_object() ? json["cells"].value(cell, Json::object()) : Json::object();
  }
  std::vector<std::string> runs(const std::string& cell) const {
    std::vector<std::string> folders;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(out() + "/runs/" + cell, missing))
      if (entry.is_directory()) folders.push_back(entry.path().string());
    return folders;
  }

  TemporaryFolder folder;
  int starts = 0;
};

BOOST_AUTO_TEST_SUITE(Sweep)

BOOST_AUTO_TEST_CASE(a_sweep_is_stopped_goes_on_and_outlives_a_failed_run) {
  TinySweep sweep;
  const std::string fine = "fine_seed-5", broken = "broken_seed-5";
  auto first = sweep.start();
  BOOST_REQUIRE_MESSAGE(wait_until([&] {
                          const auto runs = sweep.runs(fine);
                          return !first->running() ||
                                 (runs.size() == 1 && RunFolder(runs[0]).steps_closed() >= 12);
                        }),
                        first->output());
  BOOST_REQUIRE_MESSAGE(first->running(), first->output());
  first->signal(SIGTERM);
  BOOST_TEST(first->wait() == 130, first->output());
  BOOST_TEST(sweep.state(broken).value("status", "") == "failed");
  BOOST_TEST(sweep.state(fine).value("status", "") == "unfinished");
  const auto runs = sweep.runs(fine);
  BOOST_REQUIRE_EQUAL(runs.size(), 1u);
  const RunFolder run(runs[0]);
  BOOST_TEST(run.steps_closed() < kSteps);
  for (const auto& [node, pid] : run.pids()) BOOST_TEST(!is_alive(pid), node);

  auto second = sweep.start();
  BOOST_TEST(second->wait() == 1, second->output());  // one has failed
  BOOST_TEST(sweep.state(fine).value("status", "") == "finished");
  BOOST_TEST(sweep.runs(fine).size() == 1u);
  BOOST_TEST(run.summary().value("steps_closed", 0) == kSteps);
  BOOST_TEST(run.events("run_resumed").size() == 1u);
  const Json table = Json::parse(read(sweep.out() + "/table.json"), nullptr, false);
  BOOST_REQUIRE(table.is_object());
  BOOST_TEST(table["settings"][0].value("finished", -1) == 0);
  BOOST_TEST(table["settings"][1].value("finished", -1) == 1);
  BOOST_TEST(table["settings"][1]["validation_loss"].value("mean", 0.0) ==
             run.summary().value("validation_loss", -1.0));
  BOOST_TEST(table["settings"][1]["seconds"].value("mean", 0.0) > 0.0);
  BOOST_TEST(read(sweep.out() + "/table.md").find("| fine ") != std::string::npos);
  BOOST_TEST(second->output().find("1 finished, 1 failed, 0 left") != std::string::npos,
             second->output());

  auto third = sweep.start({"--list"});
  BOOST_TEST(third->wait() == 0, third->output());
  BOOST_TEST(third->output().find("nodes.s0-a.delay_s=0.01") != std::string::npos);
  BOOST_TEST(sweep.runs(broken).size() <= 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
