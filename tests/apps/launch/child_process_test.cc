#include "apps/launch/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/launch/run_folder.h"
#include "common/hangups.h"
#include "records/files.h"

namespace swarm::launch {
namespace {

struct TemporaryFolder {
  TemporaryFolder() { BOOST_REQUIRE(::mkdtemp(path) != nullptr); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  char path[32] = "/tmp/swarm-test-XXXXXX";
};

void wait_for(ChildProcess& child) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  BOOST_REQUIRE(child.reap());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ChildProcessTest)

// Under nohup the children were told to die with the terminal all the same.
BOOST_AUTO_TEST_CASE(a_hangup_ends_a_child_unless_this_process_ignores_it) {
  TemporaryFolder folder;
  for (const bool ignored : {false, true}) {
    ::signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
    BOOST_TEST(hangups_are_ignored() == ignored);
    auto child = ChildProcess::start({"/bin/sh", "-c", "kill -HUP $$; exit 7"},
                                     std::string(folder.path) + "/output");
    BOOST_REQUIRE(child.ok());
    wait_for(*child);
    BOOST_TEST(child->exit()->signal == (ignored ? 0 : SIGHUP));
  }
  ::signal(SIGHUP, SIG_DFL);
}

BOOST_AUTO_TEST_CASE(exit_codes_and_signals_are_told_apart) {
  TemporaryFolder folder;
  const std::string output = std::string(folder.path) + "/output";
  auto exits = ChildProcess::start({"/bin/sh", "-c", "echo said; exit 7"}, output);
  BOOST_REQUIRE(exits.ok());
  wait_for(*exits);
  BOOST_TEST(exits->exit()->text() == "exit code 7");
  BOOST_TEST(!exits->reap());
  std::string line;
  std::ifstream file(output);
  std::getline(file, line);
  BOOST_TEST(line == "said");
  auto sleeps = ChildProcess::start({"/bin/sleep", "100"}, output);
  BOOST_REQUIRE(sleeps.ok());
  BOOST_TEST(!sleeps->reap());
  sleeps->signal(SIGKILL);
  wait_for(*sleeps);
  BOOST_TEST(sleeps->exit()->signal == SIGKILL);
  auto missing = ChildProcess::start({"/nonexistent"}, output);
  BOOST_REQUIRE(missing.ok());
  wait_for(*missing);
  BOOST_TEST(missing->exit()->code == 127);
}

BOOST_AUTO_TEST_CASE(a_child_dies_with_its_killed_parent) {
  TemporaryFolder folder;
  int alive[2], told[2];  // the grandchild holds `alive` open for as long as it lives
  BOOST_REQUIRE(::pipe(alive) == 0);
  BOOST_REQUIRE(::pipe(told) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto child = ChildProcess::start({"/bin/sleep", "100"}, std::string(folder.path) + "/output");
    ::close(alive[1]);
    const char byte = child.ok() ? '1' : '0';
    if (::write(told[1], &byte, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  ::close(alive[1]);
  char byte = 0;
  BOOST_REQUIRE(::read(told[0], &byte, 1) == 1);
  BOOST_TEST(byte == '1');
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  BOOST_TEST(::read(alive[0], &byte, 1) == 0);  // end of file: nobody holds it any more
}

BOOST_AUTO_TEST_CASE(what_a_child_has_written_stays_small_while_it_writes_on) {
  TemporaryFolder folder;
  const std::string output = std::string(folder.path) + "/output.txt", go = output + ".go";
  auto child = ChildProcess::start(
      {"/bin/sh", "-c", "echo first; until [ -e " + go + " ]; do sleep 0.01; done; echo last"},
      output);
  BOOST_REQUIRE(child.ok());
  while (!std::filesystem::exists(output) || std::filesystem::file_size(output) < 6)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  BOOST_TEST(keep_output_small(output, 12).ok());
  BOOST_TEST(std::filesystem::file_size(output) == 6u);
  std::filesystem::create_directories(output + ".before/x");
  BOOST_TEST(!keep_output_small(output, 11).ok());
  BOOST_TEST(std::filesystem::file_size(output) == 6u);
  std::filesystem::remove_all(output + ".before");
  BOOST_TEST(keep_output_small(output, 11).ok());
  BOOST_TEST(std::filesystem::file_size(output) == 0u);
  std::ofstream(go).close();
  while (!child->reap()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::string line;
  std::getline(std::ifstream(output), line);
  BOOST_TEST(line == "last");
  std::getline(std::ifstream(output + ".before"), line);
  BOOST_TEST(line == "first");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(RunFolderTest)

BOOST_AUTO_TEST_CASE(a_run_gets_a_folder_of_its_own_and_a_config_that_loads) {
  TemporaryFolder folder;
  auto loaded = config::parse_experiment("[data]\ntrain=[\"x\"]\n", "x.toml");
  BOOST_REQUIRE(loaded.ok());
  config::Experiment experiment = *loaded.experiment;
  experiment.run.folder = folder.path;
  config::Experiment second = experiment;
  auto one = make_run_folder(experiment), two = make_run_folder(second);
  BOOST_REQUIRE(one.ok());
  BOOST_REQUIRE(two.ok());
  BOOST_TEST(*one != *two);
  auto again = config::load_experiment(*one + "/config.toml");
  BOOST_REQUIRE_MESSAGE(again.ok(), again.text());
  BOOST_TEST(again.experiment->base.run_id == experiment.base.run_id);
  BOOST_TEST(again.experiment->base.run_id != second.base.run_id);
}

BOOST_AUTO_TEST_CASE(a_node_file_reads_back_and_a_damaged_one_is_refused) {
  TemporaryFolder folder;
  BOOST_TEST((read_node_file(folder.path).code() == ErrorCode::kNotFound));
  const NodeFile file{"a", 42, NodeId::random(), {"127.0.0.1", 7000}};
  BOOST_REQUIRE(write_node_file(folder.path, file).ok());
  auto read = read_node_file(folder.path);
  BOOST_REQUIRE(read.ok());
  BOOST_TEST((read->node_id == file.node_id));
  BOOST_TEST(read->pid == 42);
  BOOST_TEST(read->endpoint.text() == "127.0.0.1:7000");
  for (const char* text : {"", "[]", "{\"pid\":1}", "7"}) {
    BOOST_REQUIRE(records::write_atomically(std::string(folder.path) + "/node.json", text).ok());
    BOOST_TEST((read_node_file(folder.path).code() == ErrorCode::kInvalidArgument));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
