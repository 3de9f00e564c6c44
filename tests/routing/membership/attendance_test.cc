#include "routing/membership/attendance.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

BOOST_AUTO_TEST_SUITE(AttendanceTest)

// One voter that says so led the coordinator's term to its end.
BOOST_AUTO_TEST_CASE(what_one_says_of_a_higher_term_is_not_what_more_than_half_say) {
  Attendance all;
  const auto says = [&all](const char* name, uint32_t process, uint64_t term) {
    all.came(name, node(process));
    all.find(name, node(process))->follows = Term(term);
  };
  says("a", 1, 900);
  BOOST_TEST(all.followed_by_most() == Term());
  says("b", 2, 0);
  BOOST_TEST(all.followed_by_most() == Term());
  says("b", 2, 500);
  BOOST_TEST(all.followed_by_most() == Term(500));
  says("c", 3, 0);
  BOOST_TEST(all.followed_by_most() == Term(500));
  says("d", 4, 0);
  BOOST_TEST(all.followed_by_most() == Term());
  BOOST_TEST((all.outranked() == Term(900)));
}

BOOST_AUTO_TEST_SUITE_END()
