#include "routing/membership/name_claim.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

namespace swarm::routing {
namespace {

using testing::node;

NameClaim claim(uint32_t number, bool holds) { return {node(number), {"host", 1}, holds}; }

BOOST_AUTO_TEST_SUITE(NameClaimTest)

BOOST_AUTO_TEST_CASE(a_name_that_nobody_has_is_free) {
  BOOST_TEST(owner_of_name(node(1), {}) == nullptr);
  BOOST_TEST(owner_of_name(node(1), {claim(1, false)}) == nullptr);
}

BOOST_AUTO_TEST_CASE(who_holds_a_name_keeps_it) {
  const std::vector<NameClaim> others{claim(9, true)};
  BOOST_REQUIRE(owner_of_name(node(1), others) != nullptr);
  BOOST_TEST(owner_of_name(node(1), others)->node == node(9));
}

BOOST_AUTO_TEST_CASE(of_two_that_claim_a_name_at_once_exactly_one_gets_it) {
  BOOST_TEST(owner_of_name(node(1), {claim(2, false)}) == nullptr);
  BOOST_TEST(owner_of_name(node(2), {claim(1, false)}) != nullptr);
}

BOOST_AUTO_TEST_CASE(of_two_that_hold_a_name_exactly_one_keeps_it) {
  BOOST_TEST(rightful_holder(node(1), {claim(2, true)}) == nullptr);
  BOOST_TEST(rightful_holder(node(2), {claim(1, true)}) != nullptr);
  BOOST_TEST(rightful_holder(node(2), {claim(1, false), claim(2, true)}) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
