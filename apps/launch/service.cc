#include "apps/launch/service.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace swarm::launch {

void tell_service_manager(const std::string& assignment) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (name == nullptr || (name[0] != '/' && name[0] != '@')) return;
  const size_t size = std::strlen(name);
  if (size >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name, size);
  if (name[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const std::string line = assignment.substr(0, assignment.find('\n'));
  (void)::sendto(fd, line.data(), line.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size));
  ::close(fd);
}

}  // namespace swarm::launch
