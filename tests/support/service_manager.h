/// A service manager such as systemd, as those that tell it something see it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/ids.h"

namespace swarm::testing {

/// The socket of a service manager, by a path or in the abstract namespace. Processes that are started while it is there
/// know it.
class ServiceManager {
 public:
  explicit ServiceManager(bool abstract) {
    name_ = (abstract ? "@swarm-test-" : "/tmp/swarm-test-") + NodeId::random().hex();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (abstract) address.sun_path[0] = '\0';
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    BOOST_REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  }
  ~ServiceManager() {
    look_away();
    ::close(fd_);
    if (name_[0] == '/') ::unlink(name_.c_str());
  }
  /// Who is started from now on does not know it.
  void look_away() { ::unsetenv("NOTIFY_SOCKET"); }
  /// "" if nothing has come.
  std::string next() const {
    char bytes[256];
    const auto size = ::recv(fd_, bytes, sizeof bytes, 0);
    return size > 0 ? std::string(bytes, static_cast<size_t>(size)) : std::string();
  }

 private:
  std::string name_;
  int fd_ = -1;
};

}  // namespace swarm::testing
