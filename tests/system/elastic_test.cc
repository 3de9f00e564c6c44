/// Peers that serve the stage that needs them: real processes, moved by the coordinator of the run.
#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

struct Elastic {
  explicit Elastic(const std::vector<std::string>& settings = {},
                   const std::string& file = "/elastic.toml")
      : process(arguments(folder.path(), settings, file), folder.path() + "/output.txt"),
        run(newest_run(folder.path())) {}

  static std::vector<std::string> arguments(const std::string& folder,
                                            const std::vector<std::string>& settings,
                                            const std::string& file) {
    std::string config = tiny_config();
    config.replace(config.rfind('/'), std::string::npos, file);
    std::vector<std::string> out = {"run", config, "--set", "run.folder=" + folder};
    for (const auto& setting : settings) {
      out.emplace_back("--set");
      out.push_back(setting);
    }
    return out;
  }
  /// By stage, when the last step was closed.
  std::vector<int64_t> peers() const {
    const auto lines = run.lines("metrics.jsonl");
    return lines.empty() ? std::vector<int64_t>()
                         : lines.back().value("live_peers", std::vector<int64_t>());
  }
  bool none_has_one() const {
    const auto now = peers();
    return now.size() == 3 && *std::min_element(now.begin(), now.end()) >= 2;
  }
  /// A node that has moved; empty if none has.
  std::string mover() const {
    for (int i = 0; i < 5; ++i) {
      const std::string name = "s0-" + std::to_string(i);
      if (std::filesystem::exists(run.path() + "/nodes/" + name + "/stages.json")) return name;
    }
    return "";
  }
  int ask(const std::string& command) {
    Process tool({command, run.path()}, folder.path() + "/" + command + ".txt");
    const int code = tool.wait();
    BOOST_TEST_INFO(tool.output());
    return code;
  }
  /// Every sample counted once, whoever moved.
  void check_exact() {
    BOOST_REQUIRE_MESSAGE(process.wait(std::chrono::seconds(150)) == 0, process.output());
    BOOST_TEST(ask("audit") == 0);
    BOOST_TEST(ask("verify") == 0);
    BOOST_TEST(run.events("replicas_differ").empty());
    BOOST_TEST(run.events("actor_failed").empty());
  }

  TemporaryFolder folder;
  Process process;
  RunFolder run;
};

BOOST_AUTO_TEST_SUITE(Moving)

BOOST_AUTO_TEST_CASE(stages_of_five_one_and_one_peers_become_even) {
  Elastic swarm;
  BOOST_TEST(wait_until([&] { return swarm.none_has_one(); }), swarm.process.output());
  BOOST_TEST(swarm.mover() != "");
  swarm.check_exact();
  BOOST_TEST(swarm.none_has_one());
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_moved_and_is_killed_comes_back_in_its_new_stage) {
  Elastic swarm;
  BOOST_REQUIRE(wait_until([&] { return swarm.none_has_one(); }));
  const std::string mover = swarm.mover();
  BOOST_REQUIRE(mover != "");
  const pid_t before = swarm.run.pid(mover);
  ::kill(before, SIGKILL);
  BOOST_TEST(wait_until([&] { return !is_alive(before) && swarm.run.pid(mover) != before; }));
  swarm.check_exact();
  BOOST_TEST(swarm.none_has_one());
}

BOOST_AUTO_TEST_CASE(a_node_without_a_stage_is_given_one) {
  Elastic swarm({"nodes.s0-4.stages=auto", "placement.moves=false"});
  const auto placed = [&] {
    const auto now = swarm.peers();
    return now.size() == 3 && now[0] == 4 && std::max(now[1], now[2]) == 2;
  };
  BOOST_TEST(wait_until(placed), swarm.process.output());
  swarm.check_exact();
}

BOOST_AUTO_TEST_SUITE_END()

/// Three stages of two processes each, which nobody starts again.
struct Lost : Elastic {
  explicit Lost(const std::vector<std::string>& settings = {})
      : Elastic(settings, "/lost_stage.toml") {}

  /// A snapshot of every stage is on the disk of a node of another one.
  bool copied() const {
    std::set<int64_t> stages;
    for (const auto& event : run.events("copy_made")) stages.insert(event.value("stage", -1));
    return stages.size() == 3;
  }
  void kill_stage(int stage) {
    for (const char* one : {"-0", "-1"})
      ::kill(run.pid("s" + std::to_string(stage) + one), SIGKILL);
  }
};

BOOST_AUTO_TEST_SUITE(Conscripting)

BOOST_AUTO_TEST_CASE(a_stage_whose_processes_are_all_gone_is_taken_over_from_copies) {
  Lost swarm;
  BOOST_REQUIRE(wait_until([&] { return swarm.copied(); }));
  swarm.kill_stage(1);
  const int64_t before = swarm.run.steps_closed() + 1;  // one may be under way
  const auto goes_on = [&] { return swarm.run.steps_closed() > before; };
  BOOST_TEST(wait_until(goes_on, std::chrono::seconds(30)), swarm.process.output());
  swarm.check_exact();
  BOOST_REQUIRE(swarm.run.events("peer_moves").size() >= 1u);
  BOOST_TEST(swarm.run.events("peer_moves")[0].value("why", "") == "conscription");
  BOOST_TEST(swarm.run.events("recovered").size() >= 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
