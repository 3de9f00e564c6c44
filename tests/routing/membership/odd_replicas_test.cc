#include "routing/membership/odd_replicas.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;

namespace {

std::vector<PeerId> odd_of(const std::vector<Replica>& replicas) {
  std::vector<PeerId> odd;
  for (const Replica& one : odd_replicas(replicas).odd) odd.push_back(one.peer);
  return odd;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(OddReplicasOfAStage)

BOOST_AUTO_TEST_CASE(the_majority_stays) {
  const std::vector<Replica> three{{peer(1), 6, false}, {peer(2), 5, false}, {peer(3), 5, false}};
  BOOST_TEST((odd_of(three) == std::vector<PeerId>{peer(1)}));
  BOOST_TEST(odd_replicas(three).right == 5u);
}

BOOST_AUTO_TEST_CASE(of_two_the_smaller_id_stays) {
  BOOST_TEST((odd_of({{peer(1), 6, false}, {peer(2), 5, false}}) == std::vector<PeerId>{peer(2)}));
}

BOOST_AUTO_TEST_CASE(who_changed_since_its_last_update_goes_whatever_its_id) {
  BOOST_TEST((odd_of({{peer(1), 6, true}, {peer(2), 5, false}}) == std::vector<PeerId>{peer(1)}));
  BOOST_TEST((odd_of({{peer(1), 6, false}, {peer(2), 5, true}}) == std::vector<PeerId>{peer(2)}));
}

BOOST_AUTO_TEST_CASE(if_all_have_changed_one_stays_all_the_same) {
  BOOST_TEST((odd_of({{peer(1), 6, true}, {peer(2), 5, true}}) == std::vector<PeerId>{peer(2)}));
}

BOOST_AUTO_TEST_CASE(equal_replicas_are_not_odd) {
  BOOST_TEST(odd_of({{peer(1), 6, false}, {peer(2), 6, true}}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
