/// What the ports of a running swarm do with strangers.
#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

/// Inodes of the sockets that a process holds.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> out;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return out;
  while (const dirent* entry = ::readdir(dir)) {
    char target[64] = {};
    if (::readlink((folder + "/" + entry->d_name).c_str(), target, sizeof target - 1) < 0) continue;
    const std::string text = target;
    if (text.rfind("socket:[", 0) == 0) out.insert(text.substr(8, text.size() - 9));
  }
  ::closedir(dir);
  return out;
}

struct Listener {
  std::string address;  // hexadecimal, as /proc/net/tcp has it
  uint16_t port = 0;
};

/// Sockets of `pid` that listen, IPv4 and IPv6.
std::vector<Listener> listeners_of(pid_t pid) {
  std::vector<Listener> out;
  const auto sockets = sockets_of(pid);
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream stream(table);
    std::string line;
    std::getline(stream, line);  // the titles
    while (std::getline(stream, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      fields >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
          timeout >> inode;
      if (state != "0A" || sockets.count(inode) == 0) continue;
      const size_t colon = local.find(':');
      out.push_back({local.substr(0, colon),
                     static_cast<uint16_t>(std::stoul(local.substr(colon + 1), nullptr, 16))});
    }
  }
  return out;
}

/// Connects to 127.0.0.1:port, sends `bytes`, closes. False when nobody listens.
bool send_bytes(uint16_t port, const std::string& bytes) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval limit{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  if (connected) static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  ::close(fd);
  return connected;
}

struct RunningSwarm {
  RunningSwarm()
      : process({"run", tiny_config(), "--set", "run.folder=" + folder.path(), "--set",
                 "training.steps=1000000"},
                folder.path() + "/output.txt"),
        run(newest_run(folder.path())) {
    BOOST_REQUIRE_MESSAGE(
        wait_until([this] { return run.steps_closed() >= 3 || !process.running(); }),
        process.output());
    BOOST_REQUIRE_MESSAGE(process.running(), process.output());
  }
  TemporaryFolder folder;
  Process process;
  RunFolder run;
};

BOOST_AUTO_TEST_SUITE(Strangers)

BOOST_AUTO_TEST_CASE(nodes_listen_on_loopback_only) {
  RunningSwarm swarm;
  const auto pids = swarm.run.pids();
  BOOST_TEST(pids.size() == 7);
  for (const auto& [node, pid] : pids) {
    const auto listeners = listeners_of(pid);
    BOOST_TEST(listeners.size() == 1, node << " has " << listeners.size() << " open ports");
    for (const auto& listener : listeners)
      BOOST_TEST(listener.address == "0100007F", node << " listens on " << listener.address);
  }
}

BOOST_AUTO_TEST_CASE(random_bytes_end_no_process_and_fill_no_memory) {
  RunningSwarm swarm;
  const auto pids = swarm.run.pids();
  std::map<std::string, int64_t> before;
  for (const auto& [node, pid] : pids) before[node] = resident_kib(pid);
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    std::string bytes(1 + random() % 65536, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (round % 2 == 0) {  // looks like a chunk at first: marker, first, control, plausible length
      bytes.resize(std::max<size_t>(bytes.size(), 8));
      const unsigned char chunk[8] = {0xC5, 3, 0, 0, 0xFF, 0xFF, 0, 0};
      std::memcpy(bytes.data(), chunk, sizeof chunk);
    }
    for (const auto& [node, pid] : pids)
      for (const auto& listener : listeners_of(pid))
        BOOST_TEST(send_bytes(listener.port, bytes), node << " does not accept connections");
  }
  const int64_t step = swarm.run.steps_closed();
  BOOST_TEST(wait_until([&] { return swarm.run.steps_closed() > step + 3; }), "training stopped");
  for (const auto& [node, pid] : pids) {
    BOOST_TEST(is_alive(pid), node << " died");
    BOOST_TEST(resident_kib(pid) - before[node] < 64 * 1024, node << " grew");
  }
}

BOOST_AUTO_TEST_CASE(node_of_another_experiment_is_refused) {
  RunningSwarm swarm;
  uint16_t port = 0;
  for (const auto& listener : listeners_of(swarm.run.pid("seed"))) port = listener.port;
  BOOST_REQUIRE(port != 0);
  TemporaryFolder folder;
  Process stranger(
      {"node", swarm.run.path() + "/config.toml", "--set", "model.width=64", "--name", "s0-a",
       "--run-folder", folder.path(), "--join", "127.0.0.1:" + std::to_string(port)},
      folder.path() + "/output.txt");
  // Refused by every node, it serves nothing: no event of the swarm ever names it.
  const int64_t step = swarm.run.steps_closed();
  BOOST_TEST(wait_until([&] { return swarm.run.steps_closed() > step + 20; }), "training stopped");
  for (const auto& event : RunFolder(folder.path() + "/nodes/s0-a").lines("events.jsonl"))
    BOOST_TEST(event.value("event", "") != "joined");
  BOOST_TEST(swarm.run.events("replicas_differ").empty());
  stranger.signal(SIGTERM);
  BOOST_TEST(stranger.wait(std::chrono::seconds(30)) != -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
