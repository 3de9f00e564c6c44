#include "routing/wiring/tries.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;

namespace {

struct Peers : InterleavedRoundRobin {
  Peers() {
    for (uint32_t i = 1; i <= 3; ++i) upsert(peer(i), 1);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(TriesTest)

BOOST_FIXTURE_TEST_CASE(nobody_is_asked_twice_in_a_round, Peers) {
  Tries tries;
  std::set<PeerId> asked;
  for (int i = 0; i < 3; ++i) asked.insert(tries.next(*this, 8).value());
  BOOST_TEST(asked.size() == 3u);
  BOOST_TEST(!tries.next(*this, 8).has_value());
  tries.start_over(0.05);
  BOOST_TEST(tries.next(*this, 8).has_value());
}

// A full peer's microbatches went to the slow one that wiring passes over, whatever it costs.
BOOST_FIXTURE_TEST_CASE(who_is_full_is_waited_for_rather_than_who_is_passed_over, Peers) {
  const auto slow = [](const PeerId& id) { return id == peer(3); };
  Tries tries;
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST((tries.next(*this, 8, slow).value() != peer(3)));
    tries.refused(0.2);
  }
  BOOST_TEST(!tries.next(*this, 8, slow).has_value());
  BOOST_TEST(tries.start_over(1) == 0.2);
  BOOST_TEST((tries.next(*this, 8, slow).value() != peer(3)));
  Tries dead;  // who does not say when it has a place is not waited for
  for (int i = 0; i < 2; ++i) dead.next(*this, 8, slow);
  BOOST_TEST((dead.next(*this, 8, slow).value() == peer(3)));
}

// As many had been asked as were left, so one that had not been asked waited for the next round.
BOOST_FIXTURE_TEST_CASE(an_unasked_peer_is_asked_at_once_though_others_left_meanwhile, Peers) {
  Tries tries;
  const PeerId first = tries.next(*this, 8).value();
  remove(first);
  const PeerId second = tries.next(*this, 8).value();
  remove(second);
  tries.refused(1.0);
  auto third = tries.next(*this, 8);
  BOOST_REQUIRE(third.has_value());
  BOOST_TEST((*third != first && *third != second));
}

BOOST_FIXTURE_TEST_CASE(the_pause_is_the_shortest_hint_not_the_last, Peers) {
  Tries tries;
  for (double hint_s : {0.3, 0.02, 0.9}) {
    BOOST_TEST(tries.next(*this, 8).has_value());
    tries.refused(hint_s);
  }
  BOOST_TEST(tries.start_over(0.05) == 0.02);
  BOOST_TEST(tries.start_over(0.05) == 0.05);
}

BOOST_FIXTURE_TEST_CASE(a_pause_is_a_second_at_most, Peers) {
  Tries tries;
  tries.refused(0);
  BOOST_TEST(tries.start_over(0.05) == 0.05);
  tries.refused(30);
  BOOST_TEST(tries.start_over(0.05) == 1.0);
}

BOOST_FIXTURE_TEST_CASE(peers_to_avoid_are_asked_when_there_is_no_other, Peers) {
  Tries tries({peer(1), peer(2)});
  BOOST_TEST(tries.next(*this, 8).value() == peer(3));
  BOOST_TEST(tries.next(*this, 8).value() == peer(1));
}

BOOST_AUTO_TEST_SUITE_END()
