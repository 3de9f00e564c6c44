/// Whole swarms of real processes: they train to the end, whoever is killed.
#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

constexpr int kSteps = 200;        // as in tiny.toml
constexpr double kGoesOnIn_s = 2;  // after a loss was noticed

/// `swarm run` on tiny.toml.
struct TinyRun {
  explicit TinyRun(const std::vector<std::string>& more = {})
      : process(arguments(folder.path(), more), folder.path() + "/output.txt"),
        run(newest_run(folder.path())) {}

  static std::vector<std::string> arguments(const std::string& folder,
                                            const std::vector<std::string>& more) {
    std::vector<std::string> out = {"run", tiny_config(), "--set", "run.folder=" + folder};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  void wait_for_step(int64_t step) {
    BOOST_REQUIRE_MESSAGE(
        wait_until([&] { return run.steps_closed() >= step || !process.running(); }),
        "step " << step << " was not reached; output:\n"
                << process.output());
    BOOST_REQUIRE_MESSAGE(process.running(), "ended early; output:\n" << process.output());
  }

  /// Sends SIGKILL and returns when that was [unix s].
  double kill_node(const std::string& node) {
    const pid_t pid = run.pid(node);
    BOOST_REQUIRE_MESSAGE(pid > 0, "no process of " << node);
    const double now = unix_now_s();
    ::kill(pid, SIGKILL);
    return now;
  }

  TemporaryFolder folder;
  Process process;
  RunFolder run;
};

/// Every step was closed, in order, with a loss, and replicas never differed.
void check_history(const RunFolder& run) {
  std::set<int64_t> steps;
  for (const auto& line : run.lines("metrics.jsonl")) {
    const int64_t step = line.value("step", int64_t{-1});
    BOOST_TEST(steps.insert(step).second, "step " << step << " has two lines in metrics.jsonl");
    if (step < kSteps)
      BOOST_TEST((line.contains("train_loss") && line["train_loss"].is_number()),
                 "no loss at step " << step);
  }
  for (int64_t step = 0; step < kSteps; ++step)
    BOOST_TEST(steps.count(step) == 1, "step " << step << " is missing in metrics.jsonl");

  BOOST_TEST(run.events("replicas_differ").empty());
  std::map<int64_t, std::set<int64_t>> equal;  // step -> stages whose replicas agreed
  for (const auto& event : run.events("replicas_equal"))
    equal[event.value("step", int64_t{-1})].insert(event.value("stage", int64_t{-1}));
  // A step whose commit met a loss may lack the line; most must have it.
  const auto complete = std::count_if(equal.begin(), equal.end(),
                                      [](const auto& entry) { return entry.second.size() == 2; });
  BOOST_TEST(complete >= kSteps * 3 / 4, "checksums were compared at " << complete << " steps");
}

void check_finished(TinyRun& tiny) {
  const int code = tiny.process.wait();
  BOOST_REQUIRE_MESSAGE(code == 0, "exit code " << code << "; output:\n" << tiny.process.output());
  check_history(tiny.run);
  const Json summary = tiny.run.summary();
  BOOST_REQUIRE(summary.is_object());
}

/// When the swarm first said that it noticed something gone after `killed_at`; 0: it never did.
double noticed_at(const RunFolder& run, double killed_at) {
  static const std::set<std::string> kNotices = {"lost",          "trainer_lost", "coordinator",
                                                 "member_failed", "rerouted",     "suspended"};
  double noticed = 0;
  for (const auto& event : run.lines("events.jsonl")) {
    const double time = event.value("time", 0.0);
    if (time < killed_at || kNotices.count(event.value("event", "")) == 0) continue;
    if (noticed == 0 || time < noticed) noticed = time;
  }
  return noticed;
}

/// A step is closed within kGoesOnIn_s of the loss being noticed.
void check_went_on(const RunFolder& run, double killed_at) {
  const double noticed = noticed_at(run, killed_at);
  BOOST_REQUIRE_MESSAGE(noticed > 0, "nobody noticed the loss");
  double next_step = 0;
  for (const auto& line : run.lines("metrics.jsonl")) {
    const double time = line.value("time", 0.0);
    if (time > noticed && (next_step == 0 || time < next_step)) next_step = time;
  }
  BOOST_REQUIRE(next_step > 0);
  BOOST_TEST_MESSAGE("noticed after " << noticed - killed_at << " s, next step "
                                      << next_step - noticed << " s later");
  BOOST_TEST(next_step - noticed <= kGoesOnIn_s);
}

void kill_and_finish(const std::string& node) {
  TinyRun tiny;
  tiny.wait_for_step(30);
  const double killed_at = tiny.kill_node(node);
  check_finished(tiny);
  check_went_on(tiny.run, killed_at);
}

BOOST_AUTO_TEST_SUITE(SwarmOfProcesses)

BOOST_AUTO_TEST_CASE(trains_to_the_end_and_learns) {
  TinyRun tiny;
  check_finished(tiny);
  const auto metrics = tiny.run.lines("metrics.jsonl");
  const double first = metrics.front().value("train_loss", 0.0);
  double last = first;
  for (const auto& line : metrics)
    if (line.value("step", 0) == kSteps - 1) last = line.value("train_loss", 0.0);
  BOOST_TEST(std::abs(first - std::log(256.0)) < 0.5, "a fresh model knows nothing: " << first);
  BOOST_TEST(last < first - 1.0);
  for (const auto& [node, pid] : tiny.run.pids())
    BOOST_TEST(!is_alive(pid), node << " outlived the run");
  for (const auto& ended :
       tiny.run.events("process_ended"))  // in order, not by a kill after the limit
    BOOST_TEST(ended.value("reason", "") == "exit code 0", ended.dump());
}

BOOST_AUTO_TEST_CASE(goes_on_without_a_first_stage_peer) { kill_and_finish("s0-b"); }

BOOST_AUTO_TEST_CASE(goes_on_without_a_last_stage_peer) { kill_and_finish("s1-a"); }

BOOST_AUTO_TEST_CASE(goes_on_without_the_seed) {
  TinyRun tiny;
  tiny.wait_for_step(30);
  tiny.kill_node("seed");
  check_finished(tiny);  // nobody needs it, so nobody need notice
}

BOOST_AUTO_TEST_CASE(goes_on_without_the_coordinator) {
  TinyRun tiny;
  tiny.wait_for_step(30);
  const std::string before = tiny.run.coordinator();
  BOOST_REQUIRE(!before.empty());
  const double killed_at = tiny.kill_node(before);
  check_finished(tiny);
  check_went_on(tiny.run, killed_at);
  BOOST_TEST(tiny.run.coordinator() != before);
}

BOOST_AUTO_TEST_CASE(goes_on_without_a_trainer) {
  TinyRun tiny;
  tiny.wait_for_step(30);
  const std::string other = tiny.run.coordinator() == "trainer-a" ? "trainer-b" : "trainer-a";
  const double killed_at = tiny.kill_node(other);
  check_finished(tiny);
  check_went_on(tiny.run, killed_at);
}

/// Which process and when is drawn from SWARM_SYSTEM_SEED, or anew every time.
BOOST_AUTO_TEST_CASE(survives_any_one_kill_at_a_random_moment) {
  const char* given = std::getenv("SWARM_SYSTEM_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::mt19937_64 random(seed);
  const std::vector<std::string> nodes = {"seed", "s0-a",      "s0-b",     "s1-a",
                                          "s1-b", "trainer-a", "trainer-b"};
  const std::string node = nodes[random() % nodes.size()];
  const auto step = static_cast<int64_t>(random() % (kSteps - 50));
  const auto delay = std::chrono::milliseconds(random() % 60);
  BOOST_TEST_MESSAGE("seed " << seed << ": kill " << node << " " << delay.count()
                             << " ms after step " << step);
  TinyRun tiny;
  tiny.wait_for_step(step);
  const auto due = std::chrono::steady_clock::now() + delay;
  wait_until([&] { return std::chrono::steady_clock::now() >= due; });
  wait_until([&] { return tiny.run.pid(node) > 0; });
  tiny.kill_node(node);
  check_finished(tiny);
}

BOOST_AUTO_TEST_CASE(restarted_peer_serves_again) {
  TinyRun tiny({"--set", "run.name=tiny"});
  tiny.wait_for_step(20);
  tiny.kill_node("s1-b");
  const std::string folder = tiny.run.path();
  std::string join;
  for (const auto& event : tiny.run.events("process_started"))
    if (event.value("node", "") == "s1-a") join = event.value("endpoint", "");
  BOOST_REQUIRE(!join.empty());
  BOOST_REQUIRE(wait_until([&] { return !is_alive(tiny.run.pid("s1-b")); }));
  Process again(
      {"node", folder + "/config.toml", "--name", "s1-b", "--run-folder", folder, "--join", join},
      folder + "/again.txt");
  check_finished(tiny);
  bool restored = false;
  for (const auto& event : tiny.run.lines("events.jsonl"))
    restored |= event.value("event", "") == "restored" && event.value("node", "") == "s1-b";
  BOOST_TEST(restored, "s1-b did not restore; its output:\n" << again.output());
  again.signal(SIGTERM);
  BOOST_TEST(again.wait() == 0);
}

BOOST_AUTO_TEST_CASE(resumes_from_the_newest_common_step_after_everything_was_killed) {
  TemporaryFolder folder;
  std::string path;
  {
    Process first(TinyRun::arguments(folder.path(), {}), folder.path() + "/first.txt");
    const RunFolder run = newest_run(folder.path());
    path = run.path();
    BOOST_REQUIRE(wait_until([&] { return run.steps_closed() >= 90 || !first.running(); }));
    BOOST_REQUIRE_MESSAGE(first.running(), first.output());
    const auto pids = run.pids();
    first.signal(SIGKILL);
    for (const auto& [node, pid] : pids) ::kill(pid, SIGKILL);
    BOOST_REQUIRE(wait_until([&, &all = pids] {
      return std::none_of(all.begin(), all.end(), [](const auto& p) { return is_alive(p.second); });
    }));
  }
  Process other({"run", "--resume", path, "--set", "model.width=64"}, folder.path() + "/other.txt");
  BOOST_TEST(other.wait() == 2);
  BOOST_TEST(other.output().find("model.width") != std::string::npos, other.output());

  const double resumed_at = unix_now_s();
  Process second({"run", "--resume", path}, folder.path() + "/second.txt");
  const int code = second.wait();
  BOOST_REQUIRE_MESSAGE(code == 0, "exit code " << code << "; output:\n" << second.output());
  const RunFolder run(path);
  check_history(run);
  const auto recovered = run.events("recovered");
  BOOST_REQUIRE_MESSAGE(!recovered.empty() && recovered.back().value("time", 0.0) >= resumed_at,
                        "the swarm did not say that it went back");
  std::map<std::string, int64_t> restored;  // node -> step
  for (const auto& event : run.events("restored"))
    if (event.value("time", 0.0) >= resumed_at)
      restored.emplace(event.value("node", ""), event.value("step", int64_t{-1}));
  BOOST_TEST(restored.size() == 4, "of the 4 peers " << restored.size() << " restored a state");
  // Snapshots were written every 20 steps; the newest complete one may just have been under way.
  for (const auto& [node, step] : restored) {
    BOOST_TEST(step >= 60, node << " went on from step " << step);
    BOOST_TEST(step == restored.begin()->second, node << " went on from another step");
  }
}

BOOST_AUTO_TEST_CASE(children_end_with_a_killed_launcher) {
  TinyRun tiny;
  tiny.wait_for_step(3);
  const auto pids = tiny.run.pids();
  BOOST_TEST(pids.size() == 7);
  tiny.process.signal(SIGKILL);
  BOOST_TEST(wait_until([&] {
    return std::none_of(pids.begin(), pids.end(), [](const auto& p) { return is_alive(p.second); });
  }));
}

BOOST_AUTO_TEST_CASE(interrupted_run_stops_its_children_and_fails) {
  TinyRun tiny;
  tiny.wait_for_step(3);
  const auto pids = tiny.run.pids();
  tiny.process.signal(SIGINT);
  const int code = tiny.process.wait(std::chrono::seconds(30));
  BOOST_TEST(code > 0);
  for (const auto& [node, pid] : pids) BOOST_TEST(!is_alive(pid), node << " outlived the run");
}

BOOST_AUTO_TEST_CASE(losing_all_peers_of_a_stage_for_good_fails_the_run) {
  TinyRun tiny({"--set", "checkpoint.copies=0"});  // else another stage's peers may take it over
  tiny.wait_for_step(5);
  tiny.kill_node("s0-a");
  tiny.kill_node("s0-b");
  BOOST_TEST(tiny.process.wait(std::chrono::seconds(60)) > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
