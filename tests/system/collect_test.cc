/// Nodes started by hand, and what is left of their run in one folder (docs/collecting.md).
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

/// The program with `arguments`, to its end: its exit code and what it said.
struct Ran {
  int code = -1;
  std::string output;
  bool says(const std::string& words) const { return output.find(words) != std::string::npos; }
};

/// Three machines on loopback, each with a folder of its own and the same key.
struct ThreeMachines {
  std::string at(const std::string& name) const { return folder.path() + "/" + name; }

  Ran run(std::vector<std::string> arguments) {
    Process process(arguments, at("output-" + std::to_string(++runs)));
    Ran out;
    out.code = process.wait(std::chrono::seconds(60));
    out.output = process.output();
    return out;
  }

  std::unique_ptr<Process> start(const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"node",         tiny_config(),
                                          "--name",       name,
                                          "--key",        at("key"),
                                          "--run-folder", at(name),
                                          "--set",        "training.steps=40",
                                          "--set",        "training.min_peers_per_stage=1",
                                          "--set",        "training.min_peers=2",
                                          "--set",        "checkpoint.every_steps=10"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Process>(arguments, at(name) + ".txt");
  }

  /// Of its line "listens on HOST:PORT;".
  static std::string address(const Process& node) {
    BOOST_REQUIRE(
        wait_until([&] { return node.output().find("; console:") != std::string::npos; }));
    const std::string text = node.output();
    const size_t from = text.find("listens on ") + 11;
    return text.substr(from, text.find(';', from) - from);
  }
  static void wait_for(const Process& node, const std::string& words) {
    BOOST_TEST(wait_until([&] { return node.output().find(words) != std::string::npos; }),
               "not said: " << words << "; output:\n"
                            << node.output());
  }

  TemporaryFolder folder;
  int runs = 0;
};

BOOST_AUTO_TEST_SUITE(Collect)

BOOST_FIXTURE_TEST_CASE(machines_leave_one_run_folder_and_end, ThreeMachines) {
  BOOST_REQUIRE(run({"key", at("key")}).code == 0);
  BOOST_REQUIRE(run({"key", at("other-key")}).code == 0);
  auto trainer = start("trainer-a", {"--set", "node.linger_s=40", "--stay"});
  const std::string join = address(*trainer);
  auto first = start("s0-a", {"--join", join, "--stay"}), last = start("s1-a", {"--join", join});
  const auto no_key = run({"collect", at("all"), join});
  BOOST_TEST(no_key.code == 2);
  BOOST_TEST(no_key.says("--key"));
  const auto wrong = run({"collect", at("all"), join, "--key", at("other-key")});
  BOOST_TEST(wrong.code == 1);
  BOOST_TEST(wrong.says("one run, one key's file"), wrong.output);
  const auto kill = run({"console", join, "-c", "kill s1-a"});
  BOOST_TEST(kill.code == 1);
  BOOST_TEST(kill.says("needs the run's key"), kill.output);

  wait_for(*trainer, "training is finished: 40 steps");
  const auto mixed = run({"collect", at("trainer-a"), join, "--key", at("key")});
  BOOST_TEST(mixed.code == 1);
  BOOST_TEST(mixed.says("collect into another"), mixed.output);
  const auto all = run({"collect", at("all"), join, "--key", at("key")});
  BOOST_TEST(all.says("all: 40 of 40 steps, finished"), all.output);
  BOOST_TEST(all.says("s0-b: the experiment names it, and nothing of it is here"), all.output);
  BOOST_TEST(all.code == 1);     // nobody started it
  BOOST_TEST(last->running());   // so nobody is told to leave
  BOOST_TEST(first->running());  // --stay

  const auto audit = run({"audit", at("all")});
  BOOST_TEST(audit.code == 0, audit.output);
  BOOST_TEST(run({"report", at("all"), "--output", at("report.html")}).code == 0);
  const auto text = run({"sample", at("all"), "--tokens", "20"});
  BOOST_TEST(text.code == 0, text.output);
  BOOST_TEST(text.says("step 40"), text.output);
  BOOST_TEST(run({"verify", at("all")}).code == 0);

  for (auto* node : {&first, &last, &trainer}) {
    (*node)->signal(SIGTERM);
    BOOST_TEST((*node)->wait(std::chrono::seconds(30)) == 0);
  }
  const auto copies = run({"collect", at("copies"), at("trainer-a"), at("s0-a"), at("s1-a")});
  BOOST_TEST(copies.says("copies: 40 of 40 steps, finished"), copies.output);
  const auto again = run({"audit", at("copies")});
  BOOST_TEST(again.code == 0, again.output);
  BOOST_TEST(run({"sample", at("copies"), "--tokens", "20"}).code == 0);

  // Who is started once more says why not, instead of waiting or mixing what is another's.
  const std::vector<std::string> node = {"node", tiny_config(), "--run-folder", at("s0-a")};
  const auto refused = [&](const std::vector<std::string>& more) {
    auto arguments = node;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const auto folder_as_key = refused({"--name", "s0-a", "--key", at("all")});
  BOOST_TEST(folder_as_key.code == 2);
  BOOST_TEST(folder_as_key.says("is a folder"), folder_as_key.output);
  std::filesystem::rename(at("s0-a/nodes/s0-a"), at("s0-a/nodes/s0-b"));
  const auto swapped = refused({"--name", "s0-b", "--key", at("key")});
  BOOST_TEST(swapped.code == 2);
  BOOST_TEST(swapped.says("are those of the node \"s0-a\""), swapped.output);
  std::ofstream(at("all/.collected"), std::ios::app) << "end = 40\n";
  const auto over =
      refused({"--name", "s1-a", "--key", at("key"), "--collect", at("all"), "--set",
               "training.steps=40", "--set", "training.min_peers_per_stage=1", "--set",
               "training.min_peers=2", "--set", "checkpoint.every_steps=10"});
  BOOST_TEST(over.code == 0);
  BOOST_TEST(over.says("training is finished (40 steps)"), over.output);
}

BOOST_FIXTURE_TEST_CASE(a_peer_with_a_spot_notice_leaves_in_order_under_load, ThreeMachines) {
  BOOST_REQUIRE(run({"key", at("key")}).code == 0);
  std::vector<std::string> more = {"--set", "training.steps=1000000", "--set",
                                   "training.min_peers=3"};
  auto trainer = start("trainer-a", more);
  more.insert(more.end(), {"--join", address(*trainer)});
  auto first = start("s0-a", more), last = start("s1-a", more);
  more.insert(more.end(), {"--set", "node.preemption_poll_s=0.2", "--set",
                           "node.preemption_file=" + at("notice")});
  auto spot = start("s0-b", more);
  const RunFolder steps(at("trainer-a") + "/nodes/trainer-a");
  BOOST_REQUIRE(wait_until([&] { return steps.steps_closed() >= 10; }));
  BOOST_TEST(spot->running());

  std::ofstream(at("notice")) << "";
  BOOST_TEST(spot->wait(std::chrono::seconds(60)) == 0, spot->output());
  BOOST_TEST(std::filesystem::exists(at("notice")));
  std::ifstream kept(at("s0-b") + "/nodes/s0-b/config.toml");
  const std::string config{std::istreambuf_iterator<char>(kept), {}};
  BOOST_TEST(config.find("preemption_poll_s = 0.2") != std::string::npos);
  BOOST_TEST(config.find(at("notice")) == std::string::npos);  // it is this machine's alone
  const RunFolder left(at("s0-b") + "/nodes/s0-b");
  BOOST_TEST(left.events("preempted").size() == 1u);
  BOOST_TEST(left.events("left").size() == 1u);
  const int64_t before = steps.steps_closed();
  BOOST_TEST(wait_until([&] { return steps.steps_closed() >= before + 10; }));

  for (auto* node : {&first, &last, &trainer}) {
    (*node)->signal(SIGTERM);
    BOOST_TEST((*node)->wait(std::chrono::seconds(30)) == 0);
  }
  run({"collect", at("all"), at("trainer-a"), at("s0-a"), at("s1-a"), at("s0-b")});
  const auto audit = run({"audit", at("all")});
  BOOST_TEST(audit.code == 0, audit.output);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
