#include "routing/wiring/interleaved_round_robin.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;

BOOST_AUTO_TEST_SUITE(InterleavedRoundRobinTest)

BOOST_AUTO_TEST_CASE(work_is_shared_in_proportion_to_throughput) {
  InterleavedRoundRobin router;
  router.upsert(peer(1), /*samples_per_s=*/1.0);
  router.upsert(peer(2), /*samples_per_s=*/3.0);
  std::map<PeerId, int> picks;
  for (int i = 0; i < 400; ++i) ++picks[router.pick(8).value()];
  BOOST_TEST(picks[peer(1)] == 100);
  BOOST_TEST(picks[peer(2)] == 300);
}

BOOST_AUTO_TEST_CASE(ties_go_to_the_smallest_id) {
  InterleavedRoundRobin router;
  router.upsert(peer(5), 1);
  router.upsert(peer(4), 1);
  BOOST_TEST(router.pick(1).value() == peer(4));
  BOOST_TEST(router.pick(1).value() == peer(5));
}

BOOST_AUTO_TEST_CASE(a_new_peer_is_not_flooded) {
  InterleavedRoundRobin router;
  router.upsert(peer(1), 1);
  for (int i = 0; i < 1000; ++i) (void)router.pick(1);
  router.upsert(peer(2), 1);
  int second = 0;
  for (int i = 0; i < 10; ++i) second += router.pick(1).value() == peer(2) ? 1 : 0;
  BOOST_TEST(second == 5);
}

BOOST_AUTO_TEST_CASE(a_changed_throughput_keeps_the_clock) {
  InterleavedRoundRobin router;
  router.upsert(peer(1), 1);
  router.upsert(peer(2), 1);
  BOOST_TEST(router.pick(1).value() == peer(1));
  router.upsert(peer(1), 100);
  BOOST_TEST(router.pick(1).value() == peer(2));
}

BOOST_AUTO_TEST_CASE(excluded_and_removed_peers_are_passed_over) {
  InterleavedRoundRobin router;
  BOOST_TEST(router.pick(1).code() == ErrorCode::kNoLivePeer);
  router.upsert(peer(1), 1);
  router.upsert(peer(2), 1);
  auto first = [](const PeerId& id) { return id == peer(1); };
  for (int i = 0; i < 3; ++i) BOOST_TEST(router.pick(1, first).value() == peer(2));
  router.remove(peer(2));
  router.remove(peer(77));
  BOOST_TEST(!router.contains(peer(2)));
  BOOST_TEST(router.size() == 1u);
  BOOST_TEST(router.pick(1, first).code() == ErrorCode::kNoLivePeer);
  BOOST_TEST(router.pick(1).value() == peer(1));
}

BOOST_AUTO_TEST_SUITE_END()
