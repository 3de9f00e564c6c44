#include "records/folder_lock.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace swarm::records {
namespace {

using std::chrono::milliseconds;

struct Folder {
  Folder() { BOOST_REQUIRE(::mkdtemp(path) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  char path[32] = "/tmp/swarm-test-XXXXXX";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(FolderLocks)

BOOST_AUTO_TEST_CASE(a_second_one_is_kept_out_and_told_the_folder) {
  const Folder folder, other;
  auto first = FolderLock::take(folder.path, milliseconds(0));
  BOOST_REQUIRE(first.ok());
  const auto second = FolderLock::take(folder.path, milliseconds(0));
  BOOST_REQUIRE((second.code() == ErrorCode::kIo));
  BOOST_TEST(second.error().detail.find(folder.path) == 0u);
  BOOST_TEST(FolderLock::take(other.path, milliseconds(0)).ok());
  first->reset();
  BOOST_TEST(FolderLock::take(folder.path, milliseconds(0)).ok());
}

BOOST_AUTO_TEST_CASE(a_killed_process_keeps_nobody_out) {
  const Folder folder;
  int ready[2];
  BOOST_REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FolderLock::take(folder.path, milliseconds(0));
    static_cast<void>(!::write(ready[1], lock.ok() ? "1" : "0", 1));
    while (true) ::pause();
  }
  char took = '0';
  BOOST_TEST(::read(ready[0], &took, 1) == 1);
  BOOST_TEST(took == '1');
  BOOST_TEST(!FolderLock::take(folder.path, milliseconds(0)).ok());
  ::kill(child, SIGKILL);
  BOOST_TEST(FolderLock::take(folder.path, milliseconds(60'000)).ok());
  ::waitpid(child, nullptr, 0);
  for (const int fd : ready) ::close(fd);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::records
