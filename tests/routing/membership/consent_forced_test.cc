/// A part that goes on without more than half.
#include <boost/test/unit_test.hpp>

#include "routing/membership/consent.h"
#include "tests/support/voters.h"

namespace swarm::routing {
namespace {

using std::chrono::seconds;
using testing::at;
using testing::ballot;
using testing::come;
using testing::commit;
using testing::lead;
using testing::leave;
using testing::list;
using Swarm = testing::VotersOfSwarm;

}  // namespace

BOOST_AUTO_TEST_SUITE(forced_consent)

BOOST_AUTO_TEST_CASE(a_part_that_is_told_to_goes_on_without_the_others_who_join_it_if_they_waited) {
  Swarm swarm("abcd");
  Consent one;
  lead(one, swarm, "abcd");
  commit(one, swarm, 0);
  leave(one, swarm, "cd");
  BOOST_TEST(!one.force(swarm.now));  // not before people could see it
  swarm.pass(one, seconds(1));
  swarm.pass(one, seconds(6));
  BOOST_TEST(one.force(swarm.now));
  one.begin(ballot(2));
  swarm.talk(one);
  BOOST_TEST(one.waits_for() == "");
  one.open(at(1), swarm.now);
  swarm.talk(one);
  BOOST_REQUIRE(one.open(at(1), swarm.now));
  BOOST_TEST(one.configuration().forced());
  BOOST_TEST(list(one) == "ab");
  commit(one, swarm, 1);
  swarm.away.clear();
  come(one, "cd");
  commit(one, swarm, 2);
  BOOST_TEST(list(one) == "abcd");
  BOOST_TEST(!one.configuration().forced());
  BOOST_TEST(one.configuration().forks.size() == 1u);
  BOOST_TEST(swarm.voters.at("c").record().decided.number == one.configuration().number);
}

// It waited for a node that had died, for ever: nobody had more than half of the list before.
BOOST_AUTO_TEST_CASE(a_forced_change_that_one_of_its_list_does_not_store_is_given_up) {
  Swarm swarm("abcdefg");
  Consent one;
  lead(one, swarm, "abcdefg");
  commit(one, swarm, 0);
  leave(one, swarm, "defg");
  swarm.pass(one, seconds(1));
  swarm.pass(one, seconds(6));
  BOOST_REQUIRE(one.force(swarm.now));
  one.begin(ballot(2));
  swarm.talk(one);
  swarm.away.insert("c");
  one.open(at(1), swarm.now);
  swarm.talk(one);
  leave(one, swarm, "c");
  swarm.pass(one, seconds(2));
  BOOST_TEST((one.snag(swarm.now) == Consent::Snag::kNone));
  swarm.pass(one, seconds(4));
  BOOST_TEST((one.snag(swarm.now) == Consent::Snag::kStuck));
  one.begin(ballot(3));
  swarm.talk(one);
  one.open(at(1), swarm.now);
  swarm.talk(one);
  BOOST_REQUIRE(one.open(at(1), swarm.now));
  BOOST_TEST(list(one) == "ab");
}

BOOST_AUTO_TEST_CASE(nothing_is_forced_where_nothing_waits) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  BOOST_TEST(!one.force(swarm.now));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing
