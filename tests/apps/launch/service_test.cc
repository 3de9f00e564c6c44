#include "apps/launch/service.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/ids.h"

namespace swarm::launch {
namespace {

/// The socket of a service manager, by a path or in the abstract namespace.
class Manager {
 public:
  explicit Manager(bool abstract) {
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
  ~Manager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(fd_);
    if (name_[0] == '/') ::unlink(name_.c_str());
  }
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

}  // namespace

BOOST_AUTO_TEST_SUITE(ServiceTest)

BOOST_AUTO_TEST_CASE(each_word_is_a_datagram) {
  for (const bool abstract : {false, true}) {
    const Manager manager(abstract);
    tell_service_manager("READY=1");
    tell_service_manager("STATUS=step 3 of 10");
    BOOST_TEST(manager.next() == "READY=1");
    BOOST_TEST(manager.next() == "STATUS=step 3 of 10");
    BOOST_TEST(manager.next() == "");
  }
}

BOOST_AUTO_TEST_CASE(a_line_cannot_say_more_than_one_thing) {
  const Manager manager(true);
  tell_service_manager("STATUS=fine\nREADY=1");
  BOOST_TEST(manager.next() == "STATUS=fine");
}

BOOST_AUTO_TEST_CASE(without_a_manager_nothing_happens) {
  tell_service_manager("READY=1");
  for (const std::string& name : {std::string("relative"), "/" + std::string(500, 'x')}) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    tell_service_manager("READY=1");
  }
  ::unsetenv("NOTIFY_SOCKET");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
