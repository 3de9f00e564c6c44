#include "routing/dht/kademlia.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

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

BOOST_AUTO_TEST_SUITE(KademliaTest)

BOOST_AUTO_TEST_CASE(keys_of_names_differ_and_stay_the_same) {
  BOOST_TEST(dht_key("run/stage/3") == dht_key("run/stage/3"));
  std::set<NodeId> keys;
  for (int i = 0; i < 1000; ++i) keys.insert(dht_key("run/stage/" + std::to_string(i)));
  BOOST_TEST(keys.size() == 1000u);
}

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
  table.refreshed(target, 110);
  BOOST_TEST(table.refresh_target(111, 10).value() == node(1));
}

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

BOOST_AUTO_TEST_SUITE(RecordStoreTest)

BOOST_AUTO_TEST_CASE(newer_versions_replace_older_ones) {
  RecordStore store;
  BOOST_TEST(store.store(node(1), {"a", "one", 5, 100}, 0));
  BOOST_TEST(!store.store(node(1), {"a", "old", 4, 100}, 0));
  BOOST_TEST(store.store(node(1), {"b", "two", 1, 100}, 0));
  BOOST_TEST(store.store(node(1), {"a", "new", 6, 90}, 0));
  auto found = store.find(node(1), 1);
  BOOST_REQUIRE_EQUAL(found.size(), 2u);
  BOOST_TEST(found[0].value == "new");
  BOOST_TEST(found[1].value == "two");
  BOOST_TEST(store.size() == 2u);
  BOOST_TEST(store.find(node(2), 1).empty());
}

BOOST_AUTO_TEST_CASE(a_repeat_never_shortens_a_life) {
  RecordStore store;
  store.store(node(1), {"a", "x", 1, 100}, 0);
  BOOST_TEST(store.store(node(1), {"a", "x", 1, 50}, 0));
  BOOST_TEST(store.find(node(1), 99).size() == 1u);
}

BOOST_AUTO_TEST_CASE(records_die_and_their_place_is_taken) {
  RecordStore::Options options;
  options.max_records = 2;
  RecordStore store(options);
  BOOST_TEST(store.store(node(1), {"a", "", 9, 10}, 0));
  BOOST_TEST(store.store(node(1), {"b", "", 1, 20}, 0));
  BOOST_TEST(!store.store(node(1), {"c", "", 1, 20}, 5));
  BOOST_TEST(store.find(node(1), 10).size() == 1u);
  BOOST_TEST(store.all(10).size() == 1u);
  BOOST_TEST(store.store(node(1), {"c", "", 1, 20}, 10));
  BOOST_TEST(!store.store(node(2), {"x", "", 1, 11}, 11));
  store.expire(20);
  BOOST_TEST(store.size() == 0u);
}

BOOST_AUTO_TEST_CASE(an_expired_version_does_not_stand_in_the_way) {
  RecordStore store;
  store.store(node(1), {"a", "old", 9, 10}, 0);
  BOOST_TEST(store.store(node(1), {"a", "new", 1, 30}, 15));
  BOOST_TEST(store.find(node(1), 16).at(0).value == "new");
  BOOST_TEST(store.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_too_large_is_refused_and_what_lives_too_long_is_cut) {
  RecordStore store;
  BOOST_TEST(!store.store(node(1), {"a", std::string(4097, 'x'), 1, 10}, 0));
  BOOST_TEST(!store.store(node(1), {std::string(129, 'x'), "", 1, 10}, 0));
  BOOST_TEST(store.store(node(1), {"a", std::string(4096, 'x'), 1, 1e12}, 0));
  BOOST_TEST(store.find(node(1), 3599).size() == 1u);
  BOOST_TEST(store.find(node(1), 3600).empty());
}

BOOST_AUTO_TEST_SUITE_END()
