// The launcher with real processes: a shell script stands in for the node.
#include "apps/launch/launcher.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "apps/launch/run_folder.h"

namespace swarm::launch {
namespace {

/// Trainers write step 0, wait until the file `go` is in the run folder, write step 1 and finish.
/// A peer that starts for the second time makes `go`; its arguments are in started.txt. `leave` ends
/// when it is known to have started, and makes `go` when it is known to have left.
const char* const kScript = R"(#!/bin/sh
all="$*"
shift; shift
while [ $# -gt 0 ]; do
  case $1 in --name) name=$2;; --run-folder) dir=$2;; --listen) listen=$2;;
  --launched) shift; continue;; esac
  shift 2
done
own=$dir/nodes/$name
case $name in broken*) echo "cannot open the data"; exit 3;; esac
until_says() { while [ -d "$dir" ] && ! grep -q "\"$name\",\"event\":\"$1" "$dir/events.jsonl"
  do sleep 0.02; done; }
case $name in dies-on*) ;; *) [ -e "$own/started.txt" ] && : > "$dir/go";; esac
echo "$all" >> "$own/started.txt"
echo "{\"name\":\"$name\",\"pid\":$$,\"node_id\":\"0123456789abcdef0123456789abcdef\",\
\"endpoint\":\"${listen:-127.0.0.1:70$(echo "$name" | wc -c)}\"}" > "$own/node.json.new"
mv "$own/node.json.new" "$own/node.json"
trap 'echo "{\"kind\":\"last\",\"node\":\"$name\"}" >> "$own/audit.jsonl"; exit 0' TERM
[ -e "$own/torn" ] && printf '{"kind":"after"}\n' >> "$own/audit.jsonl"
case $name in
t*) echo '{"step":0,"train_loss":5.5,"tokens":10,"live_peers":[2]}' >> "$own/metrics.jsonl"
  while [ ! -e "$dir/go" ]; do sleep 0.02; done
  echo '{"step":1,"train_loss":4.5,"tokens":20,"live_peers":[2]}' >> "$own/metrics.jsonl"
  case $name in tv*) more=',"steps":2,"not_durable":"stage 1: its disk is full"';; esac
  echo '{"time":1.5,"event":"finished","node":"t"'"$more"'}' >> "$own/events.jsonl";;
s-0) [ -e "$own/torn" ] ||
    printf '{"kind":"same"}\n{"kind":"same"}\n{"kind":"to' >> "$own/audit.jsonl"
  : > "$own/torn";;
die) kill -9 $$;;
dies-on) { until_says process_stays_down; : > "$dir/go"; } &
  kill -9 $$;;
leave*)
  until_says process_started
  { until_says process_ended; : > "$dir/go"; } &
  exit 0;;
esac
while :; do sleep 0.02; done
)";

struct Fixture {
  Fixture() {
    BOOST_REQUIRE(::mkdtemp(path) != nullptr);
    std::ofstream(std::string(path) + "/node.sh") << kScript;
    ::chmod((std::string(path) + "/node.sh").c_str(), 0755);
  }
  ~Fixture() { std::filesystem::remove_all(path); }

  config::Experiment experiment(const std::string& nodes) {
    auto loaded = config::parse_experiment(
        "[data]\ntrain=[\"x\"]\n[training]\nsteps=2\n[run]\nstall_limit_s=30\nrestarts=0\nfolder="
        "\"" +
            std::string(path) + "\"\n" + nodes,
        "x.toml");
    BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
    return *loaded.experiment;
  }

  LaunchOptions options(config::Experiment& e) {
    auto made = make_run_folder(e);
    BOOST_REQUIRE(made.ok());
    LaunchOptions options;
    options.folder = folder = *made;
    options.program = std::string(path) + "/node.sh";
    return options;
  }

  std::string read(const std::string& name) const {
    std::ifstream file(folder + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  bool has(const std::string& name, const std::string& part) const {
    return read(name).find(part) != std::string::npos;
  }

  void go() const { std::ofstream(folder + "/go") << ""; }

  char path[32] = "/tmp/swarm-test-XXXXXX";
  std::string folder;
};

const char* const kTwo =
    "[[nodes]]\nname=\"s\"\ncount=2\nstages=[0]\n[[nodes]]\nname=\"t\"\ntrainer=true\n";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(LauncherTest, Fixture)

BOOST_AUTO_TEST_CASE(a_killed_node_starts_again_on_its_port_and_the_run_finishes) {
  auto e = experiment(std::string(kTwo) +
                      "[[timeline]]\nat_step=1\naction=\"kill\"\nnode=\"s-0\"\n"
                      "[[timeline]]\nat_step=1\naction=\"start\"\nnode=\"s-0\"\n");
  Launcher launcher(e, options(e));
  const auto report = launcher.run();
  BOOST_TEST(report.reason == "");
  BOOST_TEST((report.outcome == Outcome::kFinished));
  BOOST_TEST(launcher.state().steps_closed() == 2u);
  BOOST_TEST(read("metrics.jsonl").size() > 60u);
  BOOST_TEST(has("events.jsonl", "\"index\":0,\"action\":\"kill\""));
  BOOST_TEST(has("events.jsonl", "\"index\":1,\"action\":\"start\""));
  BOOST_TEST(!has("events.jsonl", "process_lost"));
  BOOST_TEST(has("nodes/s-0/started.txt", "--listen 127.0.0.1:704"));
  BOOST_TEST(has("nodes/t/started.txt", "--join"));
}

BOOST_AUTO_TEST_CASE(a_run_whose_end_is_on_no_disk_says_so) {
  auto e = experiment("[[nodes]]\nname=\"s\"\nstages=[0]\n[[nodes]]\nname=\"tv\"\ntrainer=true\n");
  Launcher launcher(e, options(e));
  go();
  const auto report = launcher.run();
  BOOST_TEST((report.outcome == Outcome::kNotDurable));
  BOOST_TEST(report.reason == "stage 1: its disk is full");
}

// It was gone for the rest of the run, and so was a stage that nobody else served.
BOOST_AUTO_TEST_CASE(a_node_that_crashes_is_started_again) {
  auto e = experiment("[[nodes]]\nname=\"die\"\nstages=[0]\n[[nodes]]\nname=\"t\"\ntrainer=true\n");
  e.run.restarts = 3;
  Launcher launcher(e, options(e));
  const auto report =
      launcher.run();  // it dies when it begins; its second life lets the run finish
  BOOST_TEST(report.reason == "");
  BOOST_TEST((report.outcome == Outcome::kFinished));
  BOOST_TEST(has("events.jsonl", "process_lost"));
  BOOST_TEST(has("events.jsonl", "\"node\":\"die\",\"event\":\"process_restarts\""));
}

BOOST_AUTO_TEST_CASE(who_dies_on_stays_down_and_that_is_said) {
  auto e = experiment(std::string(kTwo) + "[[nodes]]\nname=\"dies-on\"\nstages=[0]\n");
  e.run.restarts = 1;
  Launcher launcher(e, options(e));
  const auto report = launcher.run();
  BOOST_TEST(report.reason == "");
  BOOST_TEST((report.outcome == Outcome::kFinished));
  BOOST_TEST(has("events.jsonl", "\"node\":\"dies-on\",\"event\":\"process_stays_down\""));
}

BOOST_AUTO_TEST_CASE(a_node_that_leaves_in_order_is_neither_lost_nor_started_again) {
  auto e = experiment(std::string(kTwo) + "[[nodes]]\nname=\"leaver\"\nstages=[0]\n");
  e.run.restarts = 3;
  Launcher launcher(e, options(e));
  const auto report = launcher.run();
  BOOST_TEST(report.reason == "");
  BOOST_TEST((report.outcome == Outcome::kFinished));
  BOOST_TEST(!has("events.jsonl", "process_lost"));
  BOOST_TEST(!has("events.jsonl", "process_restarts"));
}

BOOST_AUTO_TEST_CASE(a_change_of_links_is_written_for_nodes_that_follow_it) {
  auto e = experiment(std::string(kTwo) +
                      "[[timeline]]\nat_step=1\naction=\"link\"\nnode=\"s-*\"\nto=\"t\"\n"
                      "delay_s=0.2\n[[timeline]]\nat_step=1\naction=\"link\"\nnode=\"t\"\n"
                      "send_bytes_per_s=5e4\n"
                      "[[timeline]]\nat_step=1\naction=\"kill\"\nnode=\"s-0\"\n"
                      "[[timeline]]\nat_step=1\naction=\"start\"\nnode=\"s-0\"\n");
  const auto report = Launcher(e, options(e)).run();
  BOOST_TEST(report.reason == "");
  BOOST_TEST(has("nodes/s-0/started.txt", "--follow-links " + folder + "/links.toml"));
  BOOST_TEST(has("events.jsonl", "\"index\":0,\"action\":\"link\""));
  BOOST_TEST(has("links.toml",
                 "[[change]]\nnode = \"s-*\"\nto = \"t\"\ndelay_s = 0.2\n\n[[change]]\n"
                 "node = \"t\"\nsend_bytes_per_s = 5e+04\n"));
  const auto plain = experiment(kTwo);
  auto copy = plain;
  auto opts = options(copy);
  go();
  BOOST_TEST((Launcher(copy, opts).run().outcome == Outcome::kFinished));
  BOOST_TEST(!has("nodes/t/started.txt", "--follow-links"));
}

BOOST_AUTO_TEST_CASE(a_node_that_cannot_start_fails_the_run_and_says_why) {
  auto e = experiment(std::string(kTwo) + "[[nodes]]\nname=\"broken\"\n");
  const auto report = Launcher(e, options(e)).run();
  BOOST_TEST((report.outcome == Outcome::kFailed));
  BOOST_TEST(report.reason.find("broken did not start (exit code 3): cannot open the data") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_stages_only_process_fails_the_run) {
  auto e = experiment("[[nodes]]\nname=\"die\"\nstages=[0]\n[[nodes]]\nname=\"t\"\ntrainer=true\n");
  const auto report = Launcher(e, options(e)).run();
  BOOST_TEST((report.outcome == Outcome::kFailed));
  BOOST_TEST(report.reason.find("no process is left that serves stage 0") != std::string::npos);
  BOOST_TEST(has("events.jsonl", "process_lost"));
}

BOOST_AUTO_TEST_CASE(a_run_and_its_resumption_leave_an_event_file_each) {
  auto e = experiment(kTwo);
  auto opts = options(e);
  go();
  auto files = [&] {
    std::vector<uintmax_t> sizes;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/tensorboard"))
      sizes.push_back(entry.file_size());
    return sizes;
  };
  BOOST_TEST((Launcher(e, opts).run().outcome == Outcome::kFinished));
  BOOST_REQUIRE(files().size() == 1u);
  BOOST_TEST(files()[0] > 100u);
  std::ofstream(folder + "/nodes/t/events.jsonl", std::ios::app)
      << "{\"time\":2.5,\"event\":\"finished\",\"node\":\"t\"}\n";
  std::ofstream(folder + "/nodes/t/metrics.jsonl", std::ios::app)
      << "{\"step\":2,\"train_loss\":3.5}\n";
  opts.resume = true;
  BOOST_TEST((Launcher(e, opts).run().outcome == Outcome::kFinished));
  BOOST_TEST(files().size() == 2u);
  e.run.tensorboard = false;
  const auto off = options(e);
  go();
  BOOST_TEST((Launcher(e, off).run().outcome == Outcome::kFinished));
  BOOST_TEST(!std::filesystem::exists(folder + "/tensorboard"));
}

BOOST_AUTO_TEST_CASE(a_resumed_run_finishes_again_and_repeats_no_line) {
  auto e = experiment(kTwo);
  auto opts = options(e);
  go();
  BOOST_TEST((Launcher(e, opts).run().outcome == Outcome::kFinished));
  const std::string before = read("metrics.jsonl");
  std::ofstream(folder + "/nodes/t/events.jsonl", std::ios::app)
      << "{\"time\":2.5,\"event\":\"finished\",\"node\":\"t\"}\n";
  opts.resume = true;
  BOOST_TEST((Launcher(e, opts).run().outcome == Outcome::kFinished));
  BOOST_TEST(read("metrics.jsonl") == before);
  BOOST_TEST(has("events.jsonl", "\"steps_closed\":2"));
}

BOOST_AUTO_TEST_CASE(chaos_kills_a_node_and_brings_it_back) {
  auto e = experiment(std::string(kTwo) +
                      "[chaos]\nkill_every_s=0.05\nrestart_after_s=0.05\nsettle_s=100\n"
                      "targets=[\"peer\"]\n");
  Launcher launcher(e, options(e));
  const auto report = launcher.run();
  BOOST_TEST(report.reason == "");
  BOOST_TEST((report.outcome == Outcome::kFinished));
  BOOST_TEST(has("events.jsonl", "\"index\":0,\"action\":\"kill\""));
  BOOST_TEST(has("events.jsonl", "\"action\":\"start\""));
  BOOST_TEST(!has("events.jsonl", "process_lost"));
}

BOOST_AUTO_TEST_CASE(every_audit_line_is_merged_once_and_a_torn_one_spoils_no_other) {
  auto e = experiment(std::string(kTwo) +
                      "[[timeline]]\nat_step=1\naction=\"kill\"\nnode=\"s-0\"\n"
                      "[[timeline]]\nat_step=1\naction=\"start\"\nnode=\"s-0\"\n");
  auto opts = options(e);
  BOOST_TEST((Launcher(e, opts).run().outcome == Outcome::kFinished));
  auto count = [&](const std::string& part) {
    const std::string text = read("audit.jsonl");
    int found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  BOOST_TEST(count("\"after\"") == 1);
  BOOST_TEST(count("\"same\"") == 2);
  BOOST_TEST(count("\"last\"") == 3);
  BOOST_TEST(count("\"to") == 0);
  BOOST_TEST(has("events.jsonl", "audit_line_damaged"));
  std::ofstream(folder + "/nodes/t/events.jsonl", std::ios::app)
      << "{\"time\":2.5,\"event\":\"finished\",\"node\":\"t\"}\n";
  opts.resume = true;
  BOOST_TEST((Launcher(e, opts).run().outcome == Outcome::kFinished));
  BOOST_TEST(count("\"same\"") == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
