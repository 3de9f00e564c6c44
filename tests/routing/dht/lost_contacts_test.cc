#include "routing/dht/lost_contacts.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

Contact contact(uint8_t number) { return {node(number), {"10.0.0.1", uint16_t(1000 + number)}}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(LostContactsTest)

BOOST_AUTO_TEST_CASE(all_get_their_turn_until_they_are_back) {
  LostContacts lost;
  for (uint8_t i = 1; i <= 5; ++i) lost.lost(contact(i), 0);
  lost.heard_from(contact(2));
  lost.heard_from({node(9), contact(4).endpoint});   // anybody can say so
  const auto is_third = [](const Endpoint& where) {  // another process is at its address
    return where == contact(3).endpoint;
  };
  std::multiset<uint16_t> tried;
  for (int i = 0; i < 3; ++i)
    for (const auto& one : lost.next(10, is_third)) tried.insert(one.endpoint.port);
  for (const uint16_t port : {1001, 1004, 1005}) BOOST_TEST(tried.count(port) == 3u);
  BOOST_TEST(tried.size() == 9u);
  BOOST_TEST(lost.next(90'000, is_third).empty());
}

BOOST_AUTO_TEST_CASE(only_the_newest_are_kept_and_few_tried_at_once) {
  LostContacts lost;
  for (uint8_t i = 1; i <= 200; ++i) lost.lost(contact(i), 0);
  std::set<uint16_t> tried;
  for (int i = 0; i < 100; ++i) {
    const auto now = lost.next(1, [](const Endpoint&) { return false; });
    BOOST_TEST(now.size() == LostContacts::kAtOnce);
    for (const auto& one : now) tried.insert(one.endpoint.port);
  }
  BOOST_TEST(tried.size() == LostContacts::kMost);
  BOOST_TEST(*tried.begin() == 1000 + 200 - LostContacts::kMost + 1);
}

BOOST_AUTO_TEST_SUITE_END()
