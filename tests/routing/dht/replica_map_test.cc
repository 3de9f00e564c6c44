#include "routing/dht/replica_map.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

const DhtKey kKey = node(0);  // distances to it are the ids themselves

Contact contact(uint8_t number) { return {node(number), {"127.0.0.1", 1000}}; }

ReplicaMap map_of(bool mine) {
  ReplicaMap map(mine ? 4 : 3);
  map.set(kKey, {{contact(2), contact(4), contact(6)}, mine}, 100);
  return map;
}

bool knows(const ReplicaMap& map, double now_s = 101) {
  return map.find(kKey, now_s, 15) != nullptr;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ReplicaMapTest)

BOOST_AUTO_TEST_CASE(the_writer_takes_a_place_where_it_is_near_enough) {
  const std::vector<Contact> answered = {contact(2), contact(4), contact(6)};
  auto near = choose_replicas(kKey, node(3), 3, answered);
  BOOST_TEST(near.mine);
  BOOST_TEST(near.others.size() == 2u);
  BOOST_TEST((near.others.back().id == node(4)));
  auto far = choose_replicas(kKey, node(9), 3, answered);
  BOOST_TEST(!far.mine);
  BOOST_TEST(far.others.size() == 3u);
  auto few = choose_replicas(kKey, node(9), 4, answered);
  BOOST_TEST(few.mine);
  BOOST_TEST(few.others.size() == 3u);
  BOOST_TEST(choose_replicas(kKey, node(9), 3, {}).mine);
}

BOOST_AUTO_TEST_CASE(they_are_known_for_a_while) {
  const auto map = map_of(false);
  BOOST_TEST(knows(map, 114.9));
  BOOST_TEST(!knows(map, 115));
  BOOST_TEST((map.find(node(1), 101, 15) == nullptr));
}

BOOST_AUTO_TEST_CASE(a_nearer_contact_makes_them_wrong_another_one_does_not) {
  for (bool mine : {false, true}) {
    auto map = map_of(mine);
    map.heard_from(contact(4));
    map.heard_from(contact(7));
    BOOST_TEST(knows(map));
    map.heard_from(contact(5));
    BOOST_TEST(!knows(map));
  }
}

BOOST_AUTO_TEST_CASE(anybody_is_near_enough_where_places_are_free) {
  ReplicaMap map(8);
  map.set(kKey, {{contact(2)}, true}, 100);
  map.heard_from(contact(2));
  BOOST_TEST(knows(map));
  map.heard_from(contact(200));
  BOOST_TEST(!knows(map));
}

BOOST_AUTO_TEST_CASE(a_single_place_may_be_the_writers_own) {
  ReplicaMap map(1);
  map.set(kKey, choose_replicas(kKey, node(3), 1, {}), 100);
  map.heard_from(contact(7));
  map.heard_from(contact(2));
  BOOST_TEST(!knows(map));
}

BOOST_AUTO_TEST_CASE(a_lost_replica_makes_them_wrong) {
  auto map = map_of(false);
  map.lost(node(5));
  BOOST_TEST(knows(map));
  map.lost(node(6));
  BOOST_TEST(!knows(map));
}

BOOST_AUTO_TEST_SUITE_END()
