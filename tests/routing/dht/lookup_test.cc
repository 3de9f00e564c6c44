#include "routing/dht/lookup.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <set>

#include "routing/dht/routing_table.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

Contact contact(const NodeId& id) { return {id, {"127.0.0.1", 1000}}; }

NodeId random_id(std::mt19937_64& random) {
  NodeId id;
  for (uint8_t& byte : id.bytes) byte = static_cast<uint8_t>(random());
  return id;
}

/// 200 nodes that joined one after another through a random earlier one.
struct Network {
  static constexpr size_t kK = 8;
  std::map<NodeId, RoutingTable> tables;
  std::set<NodeId> dead;

  explicit Network(size_t nodes, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<NodeId> ids;
    for (size_t i = 0; i < nodes; ++i) {
      NodeId id = random_id(random);
      tables.emplace(id, RoutingTable(id, kK));
      if (!ids.empty()) {
        tables.at(id).seen(contact(ids[random() % ids.size()]), 0);
        (void)lookup(id, id);
      }
      ids.push_back(id);
    }
  }

  std::vector<Contact> lookup(const NodeId& from, const DhtKey& target, size_t* asked = nullptr,
                              size_t width = kK) {
    RoutingTable& own = tables.at(from);
    Lookup lookup(target, from, kK, 3, own.nearest(target, kK));
    lookup.set_width(width);
    while (!lookup.finished()) {
      std::vector<Contact> ask = lookup.next();
      BOOST_REQUIRE(!ask.empty());
      BOOST_REQUIRE(ask.size() <= 3);
      for (const Contact& c : ask) {
        if (asked != nullptr) ++*asked;
        if (dead.count(c.id) != 0) {
          own.failed(c.id);
          lookup.failed(c.id);
          continue;
        }
        tables.at(c.id).seen(contact(from), 1);
        own.seen(c, 1);
        lookup.answered(c.id, tables.at(c.id).nearest(target, kK));
      }
    }
    return lookup.result();
  }

  std::vector<NodeId> truth(const NodeId& from, const DhtKey& target) const {
    std::vector<NodeId> ids;
    for (const auto& [id, table] : tables)
      if (id != from && dead.count(id) == 0) ids.push_back(id);
    std::sort(ids.begin(), ids.end(), [&](const NodeId& a, const NodeId& b) {
      return xor_distance(a, target) < xor_distance(b, target);
    });
    ids.resize(std::min(ids.size(), kK));
    return ids;
  }
};

std::vector<NodeId> ids_of(const std::vector<Contact>& contacts) {
  std::vector<NodeId> ids;
  for (const Contact& c : contacts) ids.push_back(c.id);
  return ids;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(LookupTest)

BOOST_AUTO_TEST_CASE(a_lookup_finds_the_true_nearest_nodes_of_a_network) {
  Network network(200, 1);
  std::mt19937_64 random(2);
  for (int i = 0; i < 40; ++i) {
    NodeId from = std::next(network.tables.begin(), static_cast<long>(random() % 200))->first;
    DhtKey target = random_id(random);
    size_t asked = 0;
    BOOST_TEST(ids_of(network.lookup(from, target, &asked)) == network.truth(from, target),
               boost::test_tools::per_element());
    BOOST_TEST(asked < 60u);
  }
}

BOOST_AUTO_TEST_CASE(a_narrow_lookup_asks_fewer_and_still_finds_the_nearest) {
  Network network(200, 5);
  std::mt19937_64 random(6);
  size_t wide = 0, narrow = 0;
  for (int i = 0; i < 40; ++i) {
    NodeId from = std::next(network.tables.begin(), static_cast<long>(random() % 200))->first;
    DhtKey target = random_id(random);
    std::vector<NodeId> found = ids_of(network.lookup(from, target, &narrow, 3));
    std::vector<NodeId> truth = network.truth(from, target);
    BOOST_REQUIRE(found.size() >= 3u);
    for (size_t n = 0; n < 3; ++n) BOOST_TEST(found[n] == truth[n]);
    (void)network.lookup(from, target, &wide);
  }
  BOOST_TEST(narrow * 10 < wide * 9);
}

BOOST_AUTO_TEST_CASE(dead_contacts_are_passed_over) {
  Network network(200, 3);
  std::mt19937_64 random(4);
  for (const auto& [id, table] : network.tables)
    if (random() % 4 == 0) network.dead.insert(id);
  size_t exact = 0, lookups = 0;
  for (int i = 0; i < 60; ++i) {
    NodeId from = std::next(network.tables.begin(), static_cast<long>(random() % 200))->first;
    if (network.dead.count(from) != 0) continue;
    DhtKey target = random_id(random);
    std::vector<NodeId> found = ids_of(network.lookup(from, target));
    for (const NodeId& id : found) BOOST_TEST(network.dead.count(id) == 0u);
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(found[0] == network.truth(from, target)[0]);
    exact += found == network.truth(from, target) ? 1 : 0;
    ++lookups;
  }
  BOOST_TEST(exact * 10 >= lookups * 9);  // tables still point at the dead until they are asked
}

BOOST_AUTO_TEST_CASE(a_lookup_ends_when_nobody_is_left_to_ask) {
  Lookup nobody(node(5), node(1), 3, 2, {});
  BOOST_TEST(nobody.finished());
  Lookup lookup(node(5), node(1), 3, 2, {contact(node(1)), contact(node(2)), contact(node(3))});
  BOOST_TEST(lookup.next().size() == 2u);
  BOOST_TEST(lookup.next().empty());
  lookup.failed(node(2));
  BOOST_TEST(!lookup.finished());
  lookup.answered(node(77), {});
  lookup.answered(node(3), {contact(node(1)), contact(node(2))});
  BOOST_TEST(lookup.finished());
  BOOST_TEST(ids_of(lookup.result()) == std::vector<NodeId>{node(3)},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_liar_cannot_make_a_lookup_remember_without_bound) {
  std::mt19937_64 random(5);
  Lookup lookup(node(0), node(1), 4, 1, {contact(node(0x1000))});
  for (int i = 0; i < 3000; ++i) {
    auto ask = lookup.next();
    if (ask.empty()) break;
    std::vector<Contact> lies;
    for (int j = 0; j < 1000; ++j) lies.push_back(contact(random_id(random)));
    lookup.answered(ask[0].id, lies);
  }
  BOOST_TEST(lookup.finished());
  BOOST_TEST(lookup.result().size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
