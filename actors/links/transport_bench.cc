#include "actors/links/transport_bench.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "actors/errors.h"
#include "actors/links/links.h"
#include "actors/links/socket.h"
#include "actors/system_config.h"

namespace swarm::actors {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const char* const kRun = "transport-bench";

double since_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  auto index = static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  return values[index];
}

LinksOptions link_options(const char* name) {
  LinksOptions options;
  options.node_id = NodeId::random();
  options.node_name = name;
  options.run_id = kRun;
  return options;
}

// ---- raw TCP: blocking sockets, the best one thread a side can do
// ---------------------------------

bool write_all(int fd, const void* data, size_t size) {
  auto at = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t sent = ::send(fd, at, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool read_all(int fd, void* data, size_t size) {
  auto at = static_cast<char*>(data);
  while (size > 0) {
    ssize_t got = ::recv(fd, at, size, 0);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

void no_delay(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// Serves one client: 8 bytes of length, then that many bytes, echoed when all are there.
void serve_raw(int listener) {
  int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  no_delay(fd);
  std::vector<char> bytes;
  uint64_t size = 0;
  while (read_all(fd, &size, sizeof(size)) && size <= (1u << 30)) {
    if (bytes.size() < size) bytes.resize(size);
    if (!read_all(fd, bytes.data(), size) || !write_all(fd, bytes.data(), size)) break;
  }
  ::close(fd);
}

class RawClient {
 public:
  explicit RawClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ok_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    no_delay(fd_);
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// There and back [ms]; negative when the connection failed.
  double echo(std::vector<char>& bytes) {
    auto start = Clock::now();
    uint64_t size = bytes.size();
    ok_ = ok_ && write_all(fd_, &size, sizeof(size)) && write_all(fd_, bytes.data(), size) &&
          read_all(fd_, bytes.data(), size);
    return ok_ ? since_ms(start) : -1;
  }

 private:
  int fd_;
  bool ok_ = false;
};

// ---- the other process
// ----------------------------------------------------------------------------

class Child {
 public:
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& command) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
      return Error{ErrorCode::kIo, "pipe failed", 0};
    }
    std::vector<char*> argv;
    for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    if (pid < 0) return Error{ErrorCode::kIo, "fork failed", 0};
    auto child = std::make_unique<Child>(pid, in[1], out[0]);
    FILE* lines = ::fdopen(child->out_, "r");
    unsigned link = 0, raw = 0;
    bool good = lines != nullptr && std::fscanf(lines, "%u %u", &link, &raw) == 2;
    if (lines != nullptr) std::fclose(lines);
    if (!good) return Error{ErrorCode::kIo, "the benchmark's second process did not start", 0};
    child->link_port = static_cast<uint16_t>(link);
    child->raw_port = static_cast<uint16_t>(raw);
    return child;
  }

  Child(pid_t pid, int in, int out) : pid_(pid), in_(in), out_(out) {}
  ~Child() {
    ::close(in_);  // the child ends with its stdin
    for (int i = 0; i < 200; ++i) {
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
      std::this_thread::sleep_for(10ms);
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  uint16_t link_port = 0;
  uint16_t raw_port = 0;

 private:
  pid_t pid_;
  int in_;
  int out_;
};

// ---- measuring through actors
// ---------------------------------------------------------------------

Mail echo_mail(uint64_t sequence, Buffer body) {
  proto::Echo echo;
  echo.set_sequence(sequence);
  return make_mail(echo, std::move(body), 30s);
}

/// Echoes once; [ms], or why not.
Result<double> echo_once(caf::scoped_actor& self, const caf::actor& remote, const Buffer& body) {
  Result<double> result = Error{};
  auto start = Clock::now();
  self->request(remote, 30s, echo_mail(1, body))
      .receive(
          [&](const Mail& reply) {
            if (reply.body.size() == body.size()) result = since_ms(start);
          },
          [&](const caf::error& error) { result = from_caf(error); });
  return result;
}

/// Keeps two large echoes in flight until told to stop.
caf::behavior streamer(caf::event_based_actor* self, caf::actor remote, Buffer body,
                       std::shared_ptr<std::atomic<bool>> stop,
                       std::shared_ptr<std::atomic<uint64_t>> done) {
  auto next = std::make_shared<std::function<void()>>();
  *next = [=] {
    if (stop->load()) {
      *next = nullptr;
      return self->quit();
    }
    self->request(remote, 30s, echo_mail(2, body))
        .then(
            [=](const Mail&) {
              done->fetch_add(1);
              if (auto again = *next) again();
            },
            [=](const caf::error&) { self->quit(); });
  };
  auto go = *next;
  go();
  go();
  return {[](int) {}};
}

Status measure_large(caf::scoped_actor& self, const caf::actor& remote, RawClient& raw,
                     const TransportBenchOptions& options, TransportFigures& figures) {
  std::vector<char> bytes(options.body_bytes, 'x');
  auto body = Buffer::from_string(std::string(options.body_bytes, 'x'));
  std::vector<double> raw_ms, actors_ms;
  for (int round = -3; round < options.large_rounds; ++round) {
    double plain = raw.echo(bytes);
    if (plain < 0) return Error{ErrorCode::kLinkLost, "raw TCP connection failed", 0};
    auto actors = echo_once(self, remote, body);
    if (!actors) return actors.error();
    if (round < 0) continue;  // warming up
    raw_ms.push_back(plain);
    actors_ms.push_back(*actors);
  }
  figures.raw_large_ms = quantile(raw_ms, 0.5);
  figures.actors_large_ms = quantile(actors_ms, 0.5);
  return {};
}

Status measure_small(caf::scoped_actor& self, const caf::actor& remote, RawClient& raw,
                     const TransportBenchOptions& options, TransportFigures& figures) {
  std::vector<char> bytes(64, 'x');
  std::vector<double> raw_ms, actors_ms;
  for (int round = 0; round < options.small_rounds; ++round) raw_ms.push_back(raw.echo(bytes));
  for (int round = 0; round < options.small_rounds; ++round) {
    auto actors = echo_once(self, remote, {});
    if (!actors) return actors.error();
    actors_ms.push_back(*actors);
  }
  figures.raw_small_ms = quantile(raw_ms, 0.5);
  figures.actors_small_ms = quantile(actors_ms, 0.5);
  figures.actors_small_p99_ms = quantile(actors_ms, 0.99);
  return {};
}

Status measure_streaming(caf::scoped_actor& self, const caf::actor& remote,
                         const TransportBenchOptions& options, TransportFigures& figures) {
  auto body = Buffer::from_string(std::string(options.body_bytes, 'x'));
  auto stop = std::make_shared<std::atomic<bool>>(false);
  auto done = std::make_shared<std::atomic<uint64_t>>(0);
  auto stream = self->spawn(streamer, remote, body, stop, done);
  auto start = Clock::now();
  std::vector<double> small_ms;
  Status status;
  while (status.ok() &&
         (done->load() < 6 || small_ms.size() < static_cast<size_t>(options.streaming_rounds))) {
    auto small = echo_once(self, remote, {});
    if (!small) status = small.error();
    if (small) small_ms.push_back(*small);
    if (since_ms(start) > 60'000) status = Error{ErrorCode::kPeerTimeout, "streaming stalls", 0};
    std::this_thread::sleep_for(1ms);  // arrivals spread over the stream, not back to back
  }
  figures.streaming_mb_per_s =
      static_cast<double>(done->load() * options.body_bytes) / 1e3 / since_ms(start);
  stop->store(true);
  self->wait_for(stream);
  figures.streaming_median_ms = quantile(small_ms, 0.5);
  figures.streaming_p99_ms = quantile(small_ms, 0.99);
  return status;
}

}  // namespace

std::string TransportFigures::text() const {
  return fmt::format(
      "there and back       raw TCP     actors\n"
      "large body        {:8.2f} ms {:7.2f} ms   ratio {:.2f}\n"
      "smallest request  {:8.3f} ms {:7.3f} ms   p99 {:.3f} ms\n"
      "  while streaming            {:7.3f} ms   p99 {:.3f} ms   at {:.0f} MB/s each way\n",
      raw_large_ms, actors_large_ms, ratio(), raw_small_ms, actors_small_ms, actors_small_p99_ms,
      streaming_median_ms, streaming_p99_ms, streaming_mb_per_s);
}

int run_transport_bench_child() {
  Endpoint raw;
  auto listener = links::listen_on({"127.0.0.1", 0}, raw);
  if (!listener) return 1;
  ::fcntl(*listener, F_SETFL, 0);  // blocking
  std::thread serve([fd = *listener] { serve_raw(fd); });
  serve.detach();
  {
    SystemConfig config;
    caf::actor_system system(config);
    auto links = spawn_tcp_links(system, link_options("bench-child"));
    if (!links) return 1;
    auto echo = system.spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](const Mail& mail) { return mail; }};
    });
    caf::anon_send(links->links, register_atom::value, std::string("echo"), echo);
    std::printf("%u %u\n", unsigned{links->endpoint.port}, unsigned{raw.port});
    std::fflush(stdout);
    char byte;
    while (::read(0, &byte, 1) > 0) {
    }
    caf::anon_send_exit(links->links, caf::exit_reason::user_shutdown);
  }
  std::fflush(stdout);
  ::_exit(0);  // the raw server may still wait for a client
}

Result<TransportFigures> run_transport_bench(const std::vector<std::string>& child_command,
                                             const TransportBenchOptions& options) {
  auto child = Child::start(child_command);
  if (!child) return child.error();
  SystemConfig config;
  caf::actor_system system(config);
  auto own = link_options("bench");
  own.listen = {};
  auto started = spawn_tcp_links(system, own);
  if (!started) return started.error();
  caf::actor remote;
  Error failure;
  TransportFigures figures;
  Status status;
  {
    caf::scoped_actor self(system);
    self->request(started->links, 10s, resolve_atom::value,
                  Endpoint{"127.0.0.1", (*child)->link_port}, std::string("echo"))
        .receive([&](const caf::actor& actor) { remote = actor; },
                 [&](const caf::error& error) { status = from_caf(error); });
    RawClient raw((*child)->raw_port);
    if (status.ok()) status = measure_small(self, remote, raw, options, figures);
    if (status.ok()) status = measure_large(self, remote, raw, options, figures);
    if (status.ok()) status = measure_streaming(self, remote, options, figures);
  }
  caf::anon_send_exit(started->links, caf::exit_reason::user_shutdown);
  if (!status) return status.error();
  return figures;
}

}  // namespace swarm::actors
