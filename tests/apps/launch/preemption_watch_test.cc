#include "apps/launch/preemption_watch.h"

#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace swarm::launch {
namespace {

using News = std::optional<actors::SpotNotice>;

/// Time stands still until somebody says otherwise; commands run in real time.
struct Watched {
  Watched() { BOOST_REQUIRE(::mkdtemp(path) != nullptr); }
  ~Watched() { std::filesystem::remove_all(path); }

  std::string at(const std::string& name) const { return std::string(path) + "/" + name; }
  void touch(const std::string& name) const { std::ofstream(at(name)) << ""; }
  /// Waits for the end of the command that runs, and looks.
  static News after_command(PreemptionWatch& watch, double now_s) {
    siginfo_t info{};
    BOOST_REQUIRE(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0);
    return watch.look(now_s);
  }

  char path[32] = "/tmp/swarm-test-XXXXXX";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(PreemptionWatchTest, Watched)

BOOST_AUTO_TEST_CASE(the_file_counts_once_it_is_there_and_stays) {
  PreemptionWatch watch("", at("notice"), 5);
  BOOST_TEST(!watch.look(0).has_value());
  touch("notice");
  BOOST_TEST(!watch.look(4).has_value());  // not yet time
  const News news = watch.look(5);
  BOOST_REQUIRE(news.has_value());
  BOOST_TEST(news->leave);
  BOOST_TEST(news->reason == "node.preemption_file: " + at("notice") + " is there");
  BOOST_TEST(std::filesystem::exists(at("notice")));
}

BOOST_AUTO_TEST_CASE(the_command_is_a_line_of_the_shell_and_is_asked_again) {
  PreemptionWatch watch("test -e " + at("a") + " && test -e '" + at("b") + "'", "", 5);
  BOOST_TEST(!watch.look(0).has_value());
  BOOST_TEST(!after_command(watch, 1).has_value());
  touch("a");
  touch("b");
  BOOST_TEST(!watch.look(5).has_value());
  const News news = after_command(watch, 6);
  BOOST_REQUIRE(news.has_value());
  BOOST_TEST(news->leave);
  BOOST_TEST(news->reason == "node.preemption_command: exit code 0");
}

BOOST_AUTO_TEST_CASE(a_command_that_does_not_end_is_killed_and_asked_again) {
  PreemptionWatch watch("sleep 1000", "", 5);
  for (const double start : {0., 10.}) {
    BOOST_TEST(!watch.look(start).has_value());
    BOOST_TEST(!watch.look(start + 5).has_value());  // its time is over
    BOOST_TEST(!after_command(watch, start + 6).has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_command_that_cannot_be_run_is_told_once) {
  PreemptionWatch watch(at("no-such-program"), "", 5);
  BOOST_TEST(!watch.look(0).has_value());
  const News news = after_command(watch, 1);
  BOOST_REQUIRE(news.has_value());
  BOOST_TEST(!news->leave);
  BOOST_TEST(news->reason == "node.preemption_command cannot be run: exit code 127");
  BOOST_TEST(!watch.look(5).has_value());
  BOOST_TEST(!after_command(watch, 6).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace swarm::launch
