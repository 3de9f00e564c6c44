/// A run whose nodes have all lost their disks goes on from its mirror.
#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "tests/system/swarm_process.h"

namespace swarm::testing {

namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(MirrorOfARun)

BOOST_AUTO_TEST_CASE(goes_on_from_the_mirror_when_every_database_is_gone) {
  TemporaryFolder folder;
  const std::string mirror = folder.path() + "/mirror";
  fs::create_directory(mirror);
  std::string path;
  {
    Process first({"run", tiny_config(), "--set", "run.folder=" + folder.path(), "--set",
                   "checkpoint.mirror=" + mirror},
                  folder.path() + "/first.txt");
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
  for (const auto& node : fs::directory_iterator(path + "/nodes"))
    fs::remove_all(node.path() / "db");
  const double resumed_at = unix_now_s();
  Process second({"run", "--resume", path}, folder.path() + "/second.txt");
  const int code = second.wait();
  BOOST_REQUIRE_MESSAGE(code == 0, "exit code " << code << "; output:\n" << second.output());
  const RunFolder run(path);
  BOOST_TEST(run.events("mirror_taken").size() >= 2u);
  BOOST_TEST(run.events("mirror_failed").empty());
  for (const auto& event : run.events("restored"))
    if (event.value("time", 0.0) >= resumed_at)
      BOOST_TEST(event.value("step", int64_t{-1}) > 0, event.dump());
  for (const auto& event : run.events("initialized"))
    BOOST_TEST(event.value("time", 0.0) < resumed_at, event.dump());
  Process audit({"audit", path}, folder.path() + "/audit.txt");
  BOOST_TEST(audit.wait() == 0, audit.output());
  Process verify({"verify", path}, folder.path() + "/verify.txt");
  BOOST_TEST(verify.wait() == 0, verify.output());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::testing
