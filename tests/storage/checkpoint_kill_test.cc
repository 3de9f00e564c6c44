// kill -9 of a process that writes snapshots without end: what it acknowledged loads, and nothing
// half-written does.
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <random>
#include <set>

#include "tests/storage/storage_fixtures.h"

extern char** environ;

using namespace swarm;
using swarm::testing::content;
using swarm::testing::open_store;

namespace {

constexpr uint32_t kKeep = 3;
// Every fifth takes long enough to be written that a part of it may be on disk when the end comes.
size_t size_of(uint64_t step) { return step % 5 == 0 ? 20'000'000 : 500'000 + step % 7 * 400'000; }

/// What an even step holds until its content replaces it.
swarm::Buffer draft(uint64_t step) { return content(step + 1'000'000, size_of(step)); }

struct Writer {
  pid_t pid = -1;
  int acknowledgements = -1;  // one uint64 per acknowledged step
};

/// This test program again, as the writer below. A fork alone would inherit RocksDB's locks but not
/// its threads.
Writer start_writer(const std::string& directory, uint64_t first_step) {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  setenv("SWARM_TEST_WRITER_DIRECTORY", directory.c_str(), 1);
  setenv("SWARM_TEST_WRITER_STEP", std::to_string(first_step).c_str(), 1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
  if (ends[0] != 3) posix_spawn_file_actions_addclose(&actions, ends[0]);
  char program[] = "/proc/self/exe", only[] = "--run_test=CheckpointWriterProcess",
       quiet[] = "--log_level=nothing";
  char* arguments[] = {program, only, quiet, nullptr};
  Writer writer;
  BOOST_REQUIRE(posix_spawn(&writer.pid, program, &actions, nullptr, arguments, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  writer.acknowledgements = ends[0];
  return writer;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CheckpointWriterProcess, *boost::unit_test::disabled())

BOOST_AUTO_TEST_CASE(write_until_killed) {
  const char* directory = std::getenv("SWARM_TEST_WRITER_DIRECTORY");
  const char* step_text = std::getenv("SWARM_TEST_WRITER_STEP");
  if (directory == nullptr || step_text == nullptr) return;
  auto store = open_store(directory);
  uint64_t last = std::strtoull(step_text, nullptr, 10) + 10'000;  // ends even if nobody kills it
  for (uint64_t step = last - 10'000; step < last; ++step) {
    const storage::CheckpointKey key{"stage/0", step};
    if (step % 2 == 0) BOOST_REQUIRE(store->put(key, draft(step), kKeep).ok());
    BOOST_REQUIRE(store->put_or_replace(key, content(step, size_of(step)), kKeep).ok());
    if (write(3, &step, sizeof step) != sizeof step) return;
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(CheckpointKillTest)

BOOST_AUTO_TEST_CASE(what_was_acknowledged_loads_and_nothing_torn_does) {
  swarm::testing::TemporaryDirectory directory;
  std::mt19937 random(7);
  uint64_t newest = 0, acknowledged = 0;
  std::set<uint64_t> drafts;
  for (int round = 0; round < 20; ++round) {
    Writer writer = start_writer(directory.path(), newest + 1);
    uint64_t step = 0;
    for (uint32_t wanted = 1 + random() % 4; wanted > 0; --wanted) {
      BOOST_REQUIRE(read(writer.acknowledgements, &step, sizeof step) == sizeof step);
      newest = step;
      ++acknowledged;
    }
    poll(nullptr, 0, static_cast<int>(random() % 60));  // somewhere inside a later put
    kill(writer.pid, SIGKILL);
    while (read(writer.acknowledgements, &step, sizeof step) == sizeof step) newest = step;
    close(writer.acknowledgements);
    int status = 0;
    waitpid(writer.pid, &status, 0);
    BOOST_REQUIRE(WIFSIGNALED(status));
    auto store = open_store(directory.path());
    auto steps = store->steps("stage/0").value();
    BOOST_REQUIRE(!steps.empty());
    BOOST_TEST(steps.front() >= newest);  // one may be stored whose acknowledgement was lost
    BOOST_TEST(steps.front() <= newest + 1);
    BOOST_TEST(steps.size() == std::min<uint64_t>(kKeep, steps.front()));
    for (uint64_t kept : steps) {
      auto got = store->get({"stage/0", kept});
      BOOST_REQUIRE_MESSAGE(got.ok(), "round " << round << " step " << kept);
      // Not replaced yet; stays like that, for the next process goes on with the next step.
      if (kept > newest && kept % 2 == 0 && got->view() == draft(kept).view()) drafts.insert(kept);
      const bool is_draft = drafts.count(kept) != 0 && got->view() == draft(kept).view();
      BOOST_TEST((is_draft || got->view() == content(kept, size_of(kept)).view()));
    }
    newest = steps.front();
  }
  BOOST_TEST(acknowledged >= 20u);
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory.path()))
    bytes += file.file_size();
  BOOST_TEST(bytes < 80'000'000u);  // torn puts leave nothing behind for good
}

BOOST_AUTO_TEST_SUITE_END()
