#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "apps/bench/bench.h"
#include "apps/commands/tool_link.h"
#include "apps/launch/child_process.h"
#include "apps/launch/run_folder.h"
#include "common/names.h"
#include "common/statistics.h"
#include "config/experiment.h"
#include "records/files.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kTensorBytes = size_t{8} * 512 * 768 * sizeof(float);
constexpr int kTensors = 20, kSmall = 2000, kStreams = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool move_all(int fd, std::vector<char>& buffer, bool sending) {
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t count = sending ? ::write(fd, buffer.data() + done, buffer.size() - done)
                                  : ::read(fd, buffer.data() + done, buffer.size() - done);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

[[noreturn]] void echo_raw(int listener) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int fd = ::accept(listener, nullptr, nullptr);
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  std::vector<char> buffer(kTensorBytes);
  while (move_all(fd, buffer, false) && move_all(fd, buffer, true)) continue;
  ::_exit(0);
}

/// Median seconds of one tensor there and back over a plain socket between two processes. Forks:
/// call before any thread exists. Negative: it failed.
double measure_raw_tcp() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 1) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return -1;
  const pid_t child = ::fork();
  if (child == 0) echo_raw(listener);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  std::vector<double> times;
  std::vector<char> buffer(kTensorBytes, 1);
  bool good = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  for (int i = 0; good && i < kTensors; ++i) {
    const auto start = Clock::now();
    good = move_all(fd, buffer, true) && move_all(fd, buffer, false);
    times.push_back(seconds_since(start));
  }
  ::close(fd);
  ::close(listener);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return good ? quantile(times, 0.5) : -1;
}

actors::Mail echo_mail(uint64_t sequence, const Buffer& body) {
  proto::Echo echo;
  echo.set_sequence(sequence);
  return actors::make_mail(echo, body, std::chrono::seconds(60));
}

/// Seconds of each of `count` requests, one at a time.
Result<std::vector<double>> ping(ToolLink& link, const caf::actor& echo, const Buffer& body,
                                 int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    auto reply = link.ask(echo, echo_mail(static_cast<uint64_t>(i), body));
    if (!reply) return reply.error();
    if (reply->body.size() != body.size())
      return Error{ErrorCode::kInternal, "the echo has another size"};
    times.push_back(seconds_since(start));
  }
  return times;
}

/// Keeps kStreams tensors on their way until told to stop. An actor of its own.
void stream_tensors(caf::event_based_actor* self, const caf::actor& echo, const Buffer& body) {
  self->request(echo, std::chrono::seconds(60), echo_mail(0, body))
      .then([=](const actors::Mail&) { stream_tensors(self, echo, body); },
            [=](caf::error&) { self->quit(); });
}

Result<std::vector<double>> ping_while_streaming(ToolLink& link, const caf::actor& echo,
                                                 const Buffer& tensor) {
  std::vector<caf::actor> streams;
  for (int i = 0; i < kStreams; ++i)
    streams.push_back(link.self()->spawn([=](caf::event_based_actor* self) -> caf::behavior {
      stream_tensors(self, echo, tensor);
      return {[](caf::unit_t) {}};
    }));
  auto times = ping(link, echo, {}, kSmall / 10);
  for (auto& stream : streams) caf::anon_send_exit(stream, caf::exit_reason::user_shutdown);
  return times;
}

Result<launch::NodeFile> start_echo_node(const std::string& folder, launch::ChildProcess& child) {
  const std::string node_folder = folder + "/nodes/echo";
  std::filesystem::create_directories(node_folder);
  auto loaded = config::parse_experiment("[data]\ntrain = [\"none\"]\n", "bench transport");
  auto written =
      records::write_atomically(folder + "/config.toml", config::to_toml(*loaded.experiment));
  if (!written) return written.error();
  auto process = launch::ChildProcess::start(
      {"/proc/self/exe", "node", folder + "/config.toml", "--name", "echo", "--run-folder", folder},
      node_folder + "/output.txt");
  if (!process) return process.error();
  child = *process;
  for (int i = 0; i < 300 && !child.reap(); ++i) {
    auto file = launch::read_node_file(node_folder);
    if (file && file->pid == child.pid()) return file;
    ::usleep(100'000);
  }
  return Error{ErrorCode::kInternal, "the other process did not start; see " + node_folder};
}

Status measure(const Endpoint& endpoint, double raw_s) {
  ToolLink link;
  if (auto opened = link.open(); !opened) return opened;
  auto echo = link.resolve(endpoint, kEchoName);
  if (!echo) return echo.error();
  auto memory = MutableBuffer::allocate(kTensorBytes);
  std::fill_n(memory.data(), kTensorBytes, uint8_t{1});
  const Buffer tensor = memory.freeze();
  auto tensors = ping(link, *echo, tensor, kTensors);
  if (!tensors) return tensors.error();
  auto small = ping(link, *echo, {}, kSmall);
  if (!small) return small.error();
  auto busy = ping_while_streaming(link, *echo, tensor);
  if (!busy) return busy.error();
  const double tensor_s = quantile(*tensors, 0.5);
  std::printf("[8, 512, 768] float32 there and back, median of %d:\n", kTensors);
  std::printf(
      "  actors and links  %8.2f ms\n  raw TCP           %8.2f ms\n  ratio             "
      "%8.2f\n",
      tensor_s * 1e3, raw_s * 1e3, tensor_s / raw_s);
  std::printf("smallest request, %d in turn: median %.3f ms, p99 %.3f ms\n", kSmall,
              quantile(*small, 0.5) * 1e3, quantile(*small, 0.99) * 1e3);
  std::printf("smallest request while %d tensors stream: median %.3f ms, p99 %.3f ms\n", kStreams,
              quantile(*busy, 0.5) * 1e3, quantile(*busy, 0.99) * 1e3);
  return {};
}

}  // namespace

int bench_transport() {
  const double raw_s = measure_raw_tcp();
  char folder[] = "/tmp/swarm-bench-XXXXXX";
  if (raw_s < 0 || ::mkdtemp(folder) == nullptr) {
    std::fprintf(stderr, "swarm bench: no sockets or no temporary folder\n");
    return 1;
  }
  launch::ChildProcess child;
  auto node = start_echo_node(folder, child);
  Status done = node ? measure(node->endpoint, raw_s) : Status(node.error());
  child.signal(SIGKILL);
  if (!done) {
    std::fprintf(stderr, "swarm bench: %s\n", to_string(done.error()).c_str());
    return 1;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}

}  // namespace swarm::apps
