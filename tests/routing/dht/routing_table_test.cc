#include "routing/dht/routing_table.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

Contact contact(const NodeId& id) { return {id, {"127.0.0.1", 1000}}; }

std::vector<NodeId> ids_of(const std::vector<Contact>& contacts) {
  std::vector<NodeId> ids;
  for (const Contact& c : contacts) ids.push_back(c.id);
  return ids;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RoutingTableTest)

BOOST_AUTO_TEST_CASE(a_full_bucket_keeps_its_old_contacts_and_names_the_one_to_ping) {
  RoutingTable table(node(0), 2);
  // ids 8..15 share one bucket of node 0
  BOOST_TEST(!table.seen(contact(node(8)), 1).has_value());
  BOOST_TEST(!table.seen(contact(node(9)), 2).has_value());
  BOOST_TEST(!table.seen(contact(node(8)), 3).has_value());  // now the fresher one
  BOOST_TEST(table.seen(contact(node(10)), 4).value().id == node(9));
  BOOST_TEST(table.seen(contact(node(11)), 5).value().id == node(9));
  BOOST_TEST(table.size() == 2u);
  table.failed(node(9));
  BOOST_TEST(ids_of(table.nearest(node(11), 5)) == (std::vector<NodeId>{node(11), node(8)}),
             boost::test_tools::per_element());
  table.failed(node(8));
  table.failed(node(11));
  BOOST_TEST(ids_of(table.all()) == std::vector<NodeId>{node(10)},
             boost::test_tools::per_element());
  table.failed(node(10));
  table.failed(node(0));
  BOOST_TEST(table.size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_contact_that_was_heard_from_lately_is_not_pinged_for_each_newcomer) {
  RoutingTable table(node(0), 2, /*ping_after_s=*/10);
  table.seen(contact(node(8)), 1);
  table.seen(contact(node(9)), 2);
  for (uint32_t newcomer = 10; newcomer < 16; ++newcomer)
    BOOST_TEST(!table.seen(contact(node(newcomer)), 10).has_value());
  BOOST_TEST(table.seen(contact(node(10)), 11).value().id == node(8));
  BOOST_TEST(!table.seen(contact(node(11)), 12).has_value());  // once in that time
  table.seen(contact(node(8)), 12);                            // it has answered
  BOOST_TEST(table.seen(contact(node(10)), 13).value().id == node(9));
}

BOOST_AUTO_TEST_CASE(a_table_never_holds_its_owner_and_follows_a_new_endpoint) {
  RoutingTable table(node(1), 4);
  table.seen(contact(node(1)), 1);
  BOOST_TEST(table.size() == 0u);
  table.seen(contact(node(2)), 1);
  table.seen({node(2), {"10.0.0.1", 7}}, 2);
  BOOST_TEST(table.size() == 1u);
  BOOST_TEST(table.all()[0].endpoint.port == 7);
}

BOOST_AUTO_TEST_CASE(the_bucket_that_waited_longest_is_refreshed) {
  RoutingTable table(node(0), 4);
  BOOST_TEST(!table.refresh_target(1000, 10).has_value());
  table.seen(contact(node(1)), 100);
  table.seen(contact(node(8)), 50);
  BOOST_TEST(!table.refresh_target(60, 10).has_value());
  NodeId target = table.refresh_target(110, 10).value();
  BOOST_TEST(xor_distance(target, node(0)).bytes[15] / 8 == 1);  // in the bucket of 8..15
  BOOST_TEST(!(xor_distance(target, node(0)) < node(8)));
  BOOST_TEST(xor_distance(target, node(0)) < node(16));
  table.seen(contact(node(8)), 110);
  BOOST_TEST(table.refresh_target(111, 10).value() == node(1));
}

BOOST_AUTO_TEST_SUITE_END()
