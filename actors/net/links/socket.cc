#include "actors/net/links/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "actors/net/options.h"

namespace swarm::actors::links {
namespace {

// Half of what the kernel then allots. Measured: 64 to 256 KiB give the same throughput, the
// kernel's own choice (megabytes) 4 times the wait of a small request behind streaming bodies.
constexpr int kLoopbackBuffer = 128 << 10;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Null if there are none. A name is looked up unless `flags` forbid it. `code`: of getaddrinfo().
Addresses look_up(const std::string& host, uint16_t port, int flags, int* code = nullptr) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) found = nullptr;
  if (code != nullptr) *code = failed;
  return Addresses(found, freeaddrinfo);
}

bool look_up(const std::string& host, uint16_t port, int flags, Address& address) {
  const Addresses found = look_up(host, port, flags);
  if (!found) return false;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  return true;
}

Error system_error(ErrorCode code, const std::string& what) {
  return {code, what + ": " + std::strerror(errno), 0};
}

/// Waits until the connection of `fd` is made. Errors: kLinkLost.
Status wait_connected(int fd, const std::string& to, std::chrono::milliseconds patience) {
  pollfd writable{fd, POLLOUT, 0};
  if (poll(&writable, 1, static_cast<int>(patience.count())) != 1)
    return Error{ErrorCode::kLinkLost,
                 to + ": no answer within " + std::to_string(patience.count()) + " ms", 0};
  int failed = 0;
  socklen_t size = sizeof(failed);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) != 0) failed = errno;
  if (failed == 0) return {};
  return Error{ErrorCode::kLinkLost, to + ": " + std::strerror(failed), 0};
}

}  // namespace

bool is_numeric(const std::string& host) {
  Address address;
  // A zone is known on its own machine only. Without it here, an address is none there, and no name.
  return look_up(host.substr(0, host.find('%')), 0, AI_NUMERICHOST, address);
}

Result<Endpoint> told_endpoint(const std::string& text) {
  auto endpoint = Endpoint::parse(text);
  if (endpoint && !is_numeric(endpoint->host))
    return Error{ErrorCode::kInvalidArgument, "'" + text + "': an address is a number, no name", 0};
  return endpoint;
}

bool is_wildcard(const std::string& host) {
  Address address;
  if (!look_up(host, 0, AI_NUMERICHOST, address)) return false;
  if (address.storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr == INADDR_ANY;
  }
  auto in6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

Result<std::vector<std::string>> resolve_name(const std::string& name) {
  std::vector<std::string> addresses;
  int failed = 0;
  const Addresses found = look_up(name, 0, AI_ADDRCONFIG, &failed);
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      addresses.emplace_back(text);
  }
  if (addresses.empty())
    return Error{ErrorCode::kIo, "cannot resolve '" + name + "': " + gai_strerror(failed), 0};
  return addresses;
}

std::string to_announce(const std::vector<std::string>& addresses, const std::string& listen) {
  const auto v6 = [](const std::string& host) { return host.find(':') != std::string::npos; };
  const bool wants_v6 = v6(listen) && !is_wildcard(listen);
  const auto same =
      std::find_if(addresses.begin(), addresses.end(),
                   [&](const std::string& address) { return v6(address) == wants_v6; });
  return same != addresses.end() ? *same : addresses.front();
}

Result<Endpoint> announced(const LinksOptions& options) {
  const Endpoint& said = options.announce;
  if (said.host.empty() || is_numeric(said.host)) return said;
  auto addresses = resolve_name(said.host);
  if (!addresses) return addresses.error();
  const std::string& listen = options.listen.host;
  if (!is_loopback(listen))
    addresses->erase(std::remove_if(addresses->begin(), addresses->end(), is_loopback),
                     addresses->end());
  if (addresses->empty())
    return Error{ErrorCode::kInvalidArgument,
                 "'" + said.host + "' is this machine only: announce an address", 0};
  return Endpoint{to_announce(*addresses, listen), said.port};
}

std::string first_that_answers(const std::vector<std::string>& addresses, uint16_t port,
                               std::chrono::milliseconds patience) {
  if (addresses.size() == 1) return addresses.front();
  for (const std::string& address : addresses) {
    const auto fd = start_connect({address, port});
    if (!fd) continue;
    const bool connected = wait_connected(*fd, address, patience).ok();
    close(*fd);
    if (connected) return address;
  }
  return addresses.front();
}

Result<int> connect_now(const Endpoint& endpoint, std::chrono::milliseconds patience) {
  std::vector<std::string> addresses{endpoint.host};
  if (!is_numeric(endpoint.host)) {
    auto found = resolve_name(endpoint.host);
    if (!found) return Error{ErrorCode::kLinkLost, found.error().detail, 0};
    addresses = std::move(*found);
  }
  Error why;
  const auto each = patience / static_cast<int>(addresses.size());
  for (const std::string& address : addresses) {
    const auto fd = start_connect({address, endpoint.port});
    const Status made =
        fd ? wait_connected(*fd, Endpoint{address, endpoint.port}.text(), each) : fd.error();
    if (made) return *fd;
    if (fd) close(*fd);
    why = made.error();
  }
  return why;
}

void tune_socket(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  int unsent = 256 << 10;
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

void tune_loopback(int fd) {
  int size = kLoopbackBuffer;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

Result<int> start_connect(const Endpoint& endpoint) {
  Address address;
  if (!look_up(endpoint.host, endpoint.port, AI_NUMERICHOST, address)) {
    return Error{ErrorCode::kLinkLost, "not an address: " + endpoint.text(), 0};
  }
  int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error(ErrorCode::kLinkLost, "socket");
  tune_socket(fd);
  if (is_loopback(endpoint.host)) tune_loopback(fd);
  if (connect(fd, address.get(), address.size) != 0 && errno != EINPROGRESS) {
    auto error = system_error(ErrorCode::kLinkLost, "connect to " + endpoint.text());
    close(fd);
    return error;
  }
  return fd;
}

Result<int> listen_on(const Endpoint& endpoint, Endpoint& bound) {
  Address address;
  if (!look_up(endpoint.host, endpoint.port, AI_NUMERICHOST | AI_PASSIVE, address)) {
    return Error{ErrorCode::kIo, "not an address: " + endpoint.text(), 0};
  }
  int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error(ErrorCode::kIo, "socket");
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (is_loopback(endpoint.host)) tune_loopback(fd);  // accepted sockets inherit it
  sockaddr_storage actual{};
  socklen_t size = sizeof(actual);
  if (bind(fd, address.get(), address.size) != 0 || listen(fd, 128) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&actual), &size) != 0) {
    auto error = system_error(ErrorCode::kIo, "cannot listen on " + endpoint.text());
    close(fd);
    return error;
  }
  bool v4 = actual.ss_family == AF_INET;
  bound.host = endpoint.host;
  bound.port = ntohs(v4 ? reinterpret_cast<sockaddr_in*>(&actual)->sin_port
                        : reinterpret_cast<sockaddr_in6*>(&actual)->sin6_port);
  return fd;
}

}  // namespace swarm::actors::links
