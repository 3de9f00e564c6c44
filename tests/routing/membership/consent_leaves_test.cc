/// Voters that leave in order, one or many at once.
#include <boost/test/unit_test.hpp>

#include "routing/membership/consent.h"
#include "tests/support/voters.h"

namespace swarm::routing {
namespace {

using std::chrono::seconds;
using testing::come;
using testing::commit;
using testing::lead;
using testing::leave;
using testing::list;
using testing::process_of;
using Swarm = testing::VotersOfSwarm;

}  // namespace

BOOST_AUTO_TEST_SUITE(leaves_in_consent)

BOOST_AUTO_TEST_CASE(by_planned_leaves_a_swarm_shrinks_to_one_which_comes_back_alone) {
  Swarm swarm("abcd");
  Consent one;
  lead(one, swarm, "abcd");
  commit(one, swarm, 0);
  for (const char* leaver : {"d", "c", "b"}) {
    one.attendance().leaves(process_of(leaver), swarm.now);
    swarm.pass(one, seconds(1));
    BOOST_TEST(list(one).find(*leaver) == std::string::npos);
    leave(one, swarm, leaver);
  }
  commit(one, swarm, 1);
  BOOST_TEST(list(one) == "a");
  swarm.restart("a");
  Consent next;
  lead(next, swarm, "a", 2, 2);
  commit(next, swarm, 2);
}

BOOST_AUTO_TEST_CASE(half_of_the_voters_that_leave_at_once_do_not_stop_the_rest) {
  Swarm swarm("abcd");
  Consent one;
  lead(one, swarm, "abcd");
  one.attendance().leaves(process_of("c"), swarm.now);
  one.attendance().leaves(process_of("d"), swarm.now);
  one.want_votes(Step(0));
  swarm.pass(one, seconds(1));
  BOOST_TEST(list(one) == "ab");
  leave(one, swarm, "cd");
  commit(one, swarm, 0);  // asked for again in the new number
  swarm.away.clear();
  one.came("c", process_of("c", 1));  // it was only started again
  one.attendance().takes_part(process_of("c", 1));
  commit(one, swarm, 1);
  BOOST_TEST(list(one) == "abc");
}

// The one that was late, or hung, was the whole list: the run could not be started again without it.
BOOST_AUTO_TEST_CASE(where_more_than_half_leave_at_once_the_list_stays) {
  Swarm swarm("abcd");
  Consent one;
  lead(one, swarm, "abcd");
  for (const char* leaver : {"b", "c", "d"}) one.attendance().leaves(process_of(leaver), swarm.now);
  swarm.pass(one, seconds(1));
  commit(one, swarm, 0);
  BOOST_TEST(list(one) == "abcd");
}

BOOST_AUTO_TEST_CASE(who_was_voted_out_does_not_come_back_because_another_leaves) {
  Swarm swarm("abcd");
  Consent one;
  lead(one, swarm, "abcd");
  one.attendance().takes_part(process_of("d"));
  one.attendance().leaves(process_of("d"), swarm.now);
  swarm.pass(one, seconds(1));
  BOOST_TEST(list(one) == "abc");
  one.attendance().leaves(process_of("c"), swarm.now);
  commit(one, swarm, 0);
  BOOST_TEST(list(one) == "abc");
}

BOOST_AUTO_TEST_CASE(who_leaves_is_not_on_the_list_of_the_next_coordinator_either) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  Consent next;
  come(next, "abc");
  next.attendance().leaves(process_of("c"), swarm.now);
  swarm.now += seconds(1);
  lead(next, swarm, "abc", 0, 2);
  BOOST_TEST(list(next) == "ab");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing
