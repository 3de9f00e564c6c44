#include "apps/launch/full_disk.h"

#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>

#include "apps/launch/child_process.h"

namespace swarm::launch {
namespace {

struct NodeFolder {
  NodeFolder() {
    BOOST_REQUIRE(::mkdtemp(path) != nullptr);
    std::filesystem::create_directory(std::string(path) + "/db");
  }
  ~NodeFolder() { std::filesystem::remove_all(path); }
  bool marked() const { return std::filesystem::exists(std::string(path) + "/disk_full"); }
  char path[32] = "/tmp/swarm-test-XXXXXX";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(FullDiskTest)

BOOST_AUTO_TEST_CASE(the_mark_comes_and_goes_as_often_as_asked) {
  const NodeFolder folder;
  for (const bool full : {false, true, true, false, false}) {
    BOOST_TEST(set_disk_full(folder.path, full).ok());
    BOOST_TEST(folder.marked() == full);
  }
  BOOST_TEST((set_disk_full("/nonexistent", true).code() == ErrorCode::kIo));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_preloaded_is_said) {
  for (const char* path : {"/tmp/a b.so", "/tmp/a:b.so", "/nonexistent/a.so", "/etc/passwd"}) {
    const Status may = can_preload(path);
    BOOST_TEST((may.code() == ErrorCode::kInvalidArgument));
    BOOST_TEST(may.error().detail.find(path) != std::string::npos);
  }
}

#ifdef SWARM_FULL_DISK_LIBRARY
BOOST_AUTO_TEST_CASE(the_library_can_be_preloaded) {
  BOOST_TEST(can_preload(SWARM_FULL_DISK_LIBRARY).ok());
}

BOOST_AUTO_TEST_CASE(while_the_mark_is_there_writes_fail_but_those_to_records_and_elsewhere) {
  const NodeFolder folder, other;
  const std::string path = folder.path;
  auto writes = [&](const std::string& file) {
    auto child = ChildProcess::start(
        {"/usr/bin/env", std::string("LD_PRELOAD=") + SWARM_FULL_DISK_LIBRARY,
         "SWARM_FULL_DISK=" + path, "dd", "if=/dev/zero", "of=" + file, "bs=1", "count=1"},
        path + "/output.txt");
    BOOST_REQUIRE(child.ok());
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child->pid()), &info, WEXITED | WNOWAIT);
    BOOST_REQUIRE(child->reap());
    return child->exit()->signal == 0 && child->exit()->code == 0;
  };
  const std::string database = path + "/db/000001.log";
  BOOST_TEST(writes(database));
  BOOST_REQUIRE(set_disk_full(path, true).ok());
  BOOST_TEST(!writes(database));
  BOOST_TEST(writes(path + "/audit.jsonl"));
  BOOST_TEST(writes(std::string(other.path) + "/file"));
  BOOST_REQUIRE(set_disk_full(path, false).ok());
  BOOST_TEST(writes(database));
}
#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
