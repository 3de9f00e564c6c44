#include "apps/launch/service.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

#include "tests/support/service_manager.h"

namespace swarm::launch {

BOOST_AUTO_TEST_SUITE(ServiceTest)

BOOST_AUTO_TEST_CASE(each_word_is_a_datagram) {
  for (const bool abstract : {false, true}) {
    const testing::ServiceManager manager(abstract);
    tell_service_manager("READY=1");
    tell_service_manager("STATUS=step 3 of 10");
    BOOST_TEST(manager.next() == "READY=1");
    BOOST_TEST(manager.next() == "STATUS=step 3 of 10");
    BOOST_TEST(manager.next() == "");
  }
}

BOOST_AUTO_TEST_CASE(a_line_cannot_say_more_than_one_thing) {
  const testing::ServiceManager manager(true);
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
