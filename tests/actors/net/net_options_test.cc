#include <boost/test/unit_test.hpp>

#include "actors/net/options.h"

using namespace swarm;
using namespace swarm::actors;

BOOST_AUTO_TEST_SUITE(LinksOptionsTest)

BOOST_AUTO_TEST_CASE(loopback_is_this_machine_only) {
  for (const char* host : {"127.0.0.1", "127.255.0.9", "::1", "localhost"})
    BOOST_TEST(is_loopback(host), host);
  for (const char* host : {"0.0.0.0", "128.0.0.1", "::", "::2", "node-a", "127.0.0.1.example.org",
                           "127.example.org", ""})
    BOOST_TEST(!is_loopback(host), host);
}

BOOST_AUTO_TEST_CASE(plain_bytes_leave_the_machine_only_where_somebody_allowed_it) {
  LinksOptions options;
  BOOST_TEST(options.may_listen({"127.0.0.1", 7}).ok());
  const auto refused = options.may_listen({"10.0.0.1", 7});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().detail.find("10.0.0.1:7") != std::string::npos);
  BOOST_TEST(refused.error().detail.find("allow_plaintext") != std::string::npos);
  options.allow_plaintext = true;
  BOOST_TEST(options.may_listen({"10.0.0.1", 7}).ok());
}

BOOST_AUTO_TEST_SUITE_END()
