#include "routing/wiring/interleaved_round_robin.h"

#include <boost/test/unit_test.hpp>
#include <map>

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

// All senders began with the same peer.
BOOST_AUTO_TEST_CASE(ties_are_drawn_and_equal_seeds_draw_alike) {
  std::map<PeerId, int> first;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    InterleavedRoundRobin router(seed), same(seed);
    for (uint32_t i = 1; i <= 3; ++i) {
      router.upsert(peer(i), 1);
      same.upsert(peer(i), 1);
    }
    const PeerId picked = router.pick(1).value();
    BOOST_TEST(same.pick(1).value() == picked);
    ++first[picked];
  }
  for (uint32_t i = 1; i <= 3; ++i) BOOST_TEST(first[peer(i)] > 70, first[peer(i)]);
}

// It would have made up for it later, all at once.
BOOST_AUTO_TEST_CASE(who_is_passed_over_saves_nothing_up) {
  InterleavedRoundRobin router;
  router.upsert(peer(1), 1);
  router.upsert(peer(2), 1);
  auto first = [](const PeerId& id) { return id == peer(1); };
  for (int i = 0; i < 100; ++i) BOOST_TEST(router.pick(1, first).value() == peer(2));
  std::map<PeerId, int> picks;
  for (int i = 0; i < 10; ++i) ++picks[router.pick(1).value()];
  BOOST_TEST(picks[peer(1)] <= 6);
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
  const PeerId first = router.pick(1).value();
  router.upsert(first, 100);
  BOOST_TEST(router.pick(1).value() != first);
}

// Before anything was measured a pick was booked at 200 s: the peer got nothing for as long.
BOOST_AUTO_TEST_CASE(what_was_booked_at_a_wrong_cost_is_booked_anew) {
  InterleavedRoundRobin router;
  for (uint32_t i = 1; i <= 2; ++i) router.upsert(peer(i), 0.005);
  std::map<PeerId, int> picks;
  for (int i = 0; i < 3; ++i) ++picks[router.pick(1).value()];  // one of them twice
  for (uint32_t i = 1; i <= 2; ++i) router.upsert(peer(i), 5);
  for (int i = 0; i < 7; ++i) ++picks[router.pick(1).value()];
  BOOST_TEST(picks[peer(1)] == 5);
  BOOST_TEST(picks[peer(2)] == 5);
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
