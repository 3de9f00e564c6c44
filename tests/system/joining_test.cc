/// Nodes started by hand, and what is said of each mistake that people make with them.
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>

#include "tests/support/service_manager.h"
#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

/// Each mistake is named on the node at fault.
constexpr double kNamedWithin_s = 5;

/// `swarm node` on tiny.toml, in a run folder of its own: a machine.
class Machine {
 public:
  Machine(const std::string& folder, const std::string& name, std::vector<std::string> more)
      : folder_(folder), name_(name), started_at_(unix_now_s()) {
    std::vector<std::string> arguments = {"node",         tiny_config(),
                                          "--name",       name,
                                          "--set",        "training.steps=1000000",
                                          "--set",        "training.min_peers_per_stage=1",
                                          "--set",        "training.min_peers=2",
                                          "--run-folder", folder};
    arguments.insert(arguments.end(), more.begin(), more.end());
    process_ = std::make_unique<Process>(arguments, folder + "-" + name + ".txt");
  }

  /// Waits until it has said `words`, and tells how long that took.
  void check_says(const std::string& words) {
    const bool said =
        wait_until([&] { return process_->output().find(words) != std::string::npos; });
    BOOST_TEST(said, "not said: " << words << "; output:\n" << process_->output());
    BOOST_TEST_MESSAGE("\"" << words << "\" after " << unix_now_s() - started_at_ << " s");
  }
  /// The same of a mistake, which people wait for. Judged only where SWARM_JUDGE_SECONDS is set, on a machine
  /// that does nothing else.
  void check_names(const std::string& mistake) {
    check_says(mistake);
    const double seconds = unix_now_s() - started_at_;
    if (std::getenv("SWARM_JUDGE_SECONDS") != nullptr)
      BOOST_TEST(seconds < kNamedWithin_s, mistake << " after " << seconds << " s");
  }
  /// Of its line "listens on HOST:PORT;".
  std::string address() {
    check_says("listens on ");
    const std::string text = process_->output();
    const size_t from = text.find("listens on ") + 11;
    return text.substr(from, text.find(';', from) - from);
  }
  int end(int signal = SIGTERM) {
    process_->signal(signal);
    return process_->wait(std::chrono::seconds(30));
  }
  int wait() { return process_->wait(std::chrono::seconds(30)); }
  std::string output() const { return process_->output(); }
  std::string log() const {
    std::ifstream file(folder_ + "/nodes/" + name_ + "/log.txt");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string folder_, name_;
  double started_at_;
  std::unique_ptr<Process> process_;
};

/// All that `manager` was told until now, after `before`.
std::string heard(const ServiceManager& manager, std::string before = "") {
  for (std::string word; !(word = manager.next()).empty();) before += word + "\n";
  return before;
}

std::string write_other_text(const std::string& path) {
  std::mt19937 random(1);
  std::ofstream file(path);
  for (int i = 0; i < 100'000; ++i) file << static_cast<char>('a' + random() % 26);
  return path;
}

BOOST_AUTO_TEST_SUITE(Joining)

BOOST_AUTO_TEST_CASE(each_mistake_is_named_on_the_node_at_fault) {
  ::signal(SIGHUP, SIG_DFL);  // nodes that are to outlive a terminal take no notice of it
  TemporaryFolder folder;
  const auto at = [&](const char* name) { return folder.path() + "/" + name; };
  const std::string other_text = write_other_text(at("text"));
  Process no_text({"config", "check", tiny_config(), "--set", "data.train=" + at("none")},
                  at("check.txt"));
  BOOST_TEST(no_text.wait() == 2);
  BOOST_TEST(no_text.output().find(at("none")) != std::string::npos, no_text.output());

  ServiceManager manager(/*abstract=*/true);
  Machine trainer(at("m1"), "trainer-a", {});
  manager.look_away();
  const std::string join = trainer.address();
  Machine first(at("m2"), "s0-a", {"--join", join}), last(at("m3"), "s1-a", {"--join", join});

  Machine width(at("width"), "w", {"--trainer", "--join", join, "--set", "model.width=64"});
  width.check_names("model.width is 64 at 'w' and 32 at 'trainer-a'");
  Machine dead(at("dead"), "trainer-b", {"--join", "127.0.0.1:1"});
  dead.check_names("127.0.0.1:1: Connection refused");
  Machine nowhere(at("nowhere"), "trainer-b", {"--join", "no-such-host.invalid:7000"});
  nowhere.check_names("waits to join no-such-host.invalid:7000");
  Machine wrong(at("wrong"), "trainer-z", {"--join", join});
  wrong.check_names("did you mean \"trainer-");
  BOOST_TEST(wrong.wait() == 2);
  Machine taken(at("taken"), "trainer-b", {"--join", join, "--listen", join});
  taken.check_names("Address already in use");
  BOOST_TEST(taken.wait() == 1);
  Machine hidden(at("hidden"), "h", {"--trainer", "--join", join, "--announce", "127.0.0.1:1"});
  hidden.check_names("cannot dial this node back at 127.0.0.1:1");

  trainer.check_says("node trainer-a step ");
  Machine doubled(at("doubled"), "s0-a", {"--join", join});
  doubled.check_names("event=name_taken");
  BOOST_TEST(doubled.wait() == 1);
  Machine other(at("other"), "o",
                {"--trainer", "--join", join, "--set", "data.train=" + other_text});
  other.check_names("event=other_text");
  const std::string before = trainer.output();
  BOOST_TEST(wait_until([&] {
               return trainer.output().find(" step ", before.size()) != std::string::npos;
             }),
             "no training");
  BOOST_TEST(other.output().find(" step ") == std::string::npos);
  for (const char* words : {"took over", "takes_over", " step "})  // it has met nobody
    BOOST_TEST(dead.log().find(words) == std::string::npos, words);
  trainer.check_says("event=refused");  // the other side says it, too
  for (Machine* node : {&other, &hidden, &width, &dead, &nowhere}) BOOST_TEST(node->end() == 0);
  const std::string ready = heard(manager);
  BOOST_TEST(ready.find("READY=1") != std::string::npos, ready);
  BOOST_TEST(ready.find("STOPPING=1") == std::string::npos, ready);
  BOOST_TEST(last.end(SIGHUP) == 0);
  BOOST_TEST(last.log().find("event=left") != std::string::npos);
  for (Machine* node : {&first, &trainer}) BOOST_TEST(node->end() == 0);
  const std::string left = heard(manager, ready);
  BOOST_TEST(left.find("STOPPING=1") != std::string::npos, left);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
