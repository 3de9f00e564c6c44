#include "actors/net/links/node_table.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

const NodeTable::TimePoint kStart = NodeTable::TimePoint{} + 1h;

NodeId node_id(uint8_t number) {
  NodeId id;
  id.bytes[0] = number;
  return id;
}

NodeInfo info(uint8_t number, uint16_t port = 7) {
  return {node_id(number), "node" + std::to_string(number), {"host", port}, false};
}

const Endpoint kAccepted{};
const Endpoint kDialled{"host", 7};

}  // namespace

BOOST_AUTO_TEST_SUITE(NodeTables)

BOOST_AUTO_TEST_CASE(of_two_links_the_one_dialled_by_the_smaller_id_carries_new_mail) {
  for (const bool dialled_first : {false, true}) {
    NodeTable smaller(node_id(1)), larger(node_id(9));
    // Link 10 is dialled by node 1, link 20 by node 9; both sides meet them in either order.
    auto both = [&](NodeTable& table, const NodeInfo& other, bool own_is_10) {
      const auto ten = [&] {
        return table.up(other, own_is_10 ? kDialled : kAccepted, 10, kStart);
      };
      const auto twenty = [&] {
        return table.up(other, own_is_10 ? kAccepted : kDialled, 20, kStart);
      };
      BOOST_TEST((dialled_first ? ten() : twenty()).first);
      const auto second = dialled_first ? twenty() : ten();
      BOOST_TEST(!second.first);
      BOOST_TEST(second.retired == std::vector<ConnId>{20}, boost::test_tools::per_element());
      BOOST_TEST(table.find(other.id)->links.front().conn == 10u);
    };
    both(smaller, info(9), true);
    both(larger, info(1), false);
  }
}

BOOST_AUTO_TEST_CASE(of_two_links_dialled_by_the_same_side_the_newest_carries_new_mail) {
  NodeTable table(node_id(1));
  table.up(info(2), kDialled, 10, kStart);
  const auto up = table.up(info(2), kDialled, 20, kStart);
  BOOST_TEST(up.retired == std::vector<ConnId>{10}, boost::test_tools::per_element());
  const auto lost = table.lost(node_id(2), 20, kStart);
  BOOST_TEST(!lost.last);
  BOOST_TEST(lost.carries == 10u);
}

BOOST_AUTO_TEST_CASE(a_node_is_down_when_its_last_link_is_lost_until_somebody_tells_of_it_anew) {
  NodeTable table(node_id(1));
  table.up(info(2), kDialled, 10, kStart);
  BOOST_TEST(!table.find(node_id(2))->down);
  BOOST_TEST(table.lost(node_id(2), 10, kStart).last);
  BOOST_TEST(table.find(node_id(2))->down);
  BOOST_TEST(!table.lost(node_id(2), 10, kStart).last);  // it was lost already
  table.told(node_id(2), {"other", 8}, kStart);
  BOOST_TEST(!table.find(node_id(2))->down);
  BOOST_TEST(table.find(node_id(2))->endpoint.text() == "other:8");
}

BOOST_AUTO_TEST_CASE(a_node_that_listens_nowhere_is_reached_where_it_was_dialled) {
  NodeTable table(node_id(1));
  table.up(info(2, 0), kDialled, 10, kStart);
  BOOST_TEST(table.find(node_id(2))->endpoint.text() == kDialled.text());
}

BOOST_AUTO_TEST_CASE(who_is_not_linked_and_not_used_for_a_minute_is_to_be_forgotten) {
  NodeTable table(node_id(1));
  table.use(node_id(2), kStart);
  table.told(node_id(3), kDialled, kStart + 30s);
  table.up(info(4), kDialled, 10, kStart);
  table.up(info(5), kDialled, 20, kStart);
  table.lost(node_id(5), 20, kStart + 30s);
  BOOST_TEST(table.idle(kStart + 59s).empty());
  BOOST_REQUIRE_EQUAL(table.idle(kStart + 60s).size(), 1u);
  BOOST_TEST((table.idle(kStart + 60s).front() == node_id(2)));
  BOOST_TEST(table.idle(kStart + 24h).size() == 3u);  // all but the linked one
  table.forget(node_id(2));
  BOOST_TEST((table.find(node_id(2)) == nullptr));
}

BOOST_AUTO_TEST_CASE(whose_address_another_process_has_is_not_dialled) {
  NodeTable table(node_id(1));
  table.told(node_id(2), kDialled, kStart);
  table.replaced(node_id(2));
  BOOST_TEST(table.find(node_id(2))->down);
  table.replaced(node_id(3));  // not known: nothing to remember
  BOOST_TEST((table.find(node_id(3)) == nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
