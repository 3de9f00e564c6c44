#include "routing/membership/assembly.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

const ConfigurationNumber kOne(1), kTwo(2);

Assembly assembly_of_three() {
  Assembly assembly({kOne, {"a", "b", "c"}, {Step(4), History(9)}, false});
  assembly.came("a", node(1));
  assembly.came("b", node(2));
  assembly.came("c", node(3));
  return assembly;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(AssemblyTest)

BOOST_AUTO_TEST_CASE(a_commit_counts_when_more_than_half_have_voted) {
  Assembly assembly = assembly_of_three();
  assembly.voted("a", node(1), kOne, Step(4));
  BOOST_TEST(!assembly.may_commit());
  assembly.voted("stranger", node(8), kOne, Step(4));
  BOOST_TEST(!assembly.may_commit());
  assembly.voted("b", node(2), kOne, Step(4));
  BOOST_TEST(assembly.may_commit());
  assembly.commit(History(10));
  BOOST_TEST(assembly.place().step == Step(5));
  BOOST_TEST(!assembly.may_commit());
}

BOOST_AUTO_TEST_CASE(a_vote_goes_with_its_process) {
  Assembly assembly = assembly_of_three();
  assembly.voted("a", node(1), kOne, Step(4));
  assembly.came("a", node(11));
  assembly.voted("b", node(2), kOne, Step(4));
  assembly.voted("a", node(1), kOne, Step(4));  // comes late
  BOOST_TEST(!assembly.may_commit());
  assembly.voted("a", node(11), kOne, Step(4));
  BOOST_TEST(assembly.may_commit());
}

BOOST_AUTO_TEST_CASE(a_change_begins_the_votes_anew) {
  Assembly assembly = assembly_of_three();
  assembly.voted("a", node(1), kOne, Step(4));
  assembly.voted("b", node(2), kOne, Step(4));
  assembly.begin_change({"a", "b"});
  BOOST_TEST(!assembly.may_commit());
  BOOST_TEST(!assembly.stored("a", kTwo));
  BOOST_TEST(!assembly.stored("b", kOne));
  BOOST_TEST(assembly.stored("b", kTwo));
  BOOST_TEST((assembly.configuration().voters == Voters{"a", "b"}));
  BOOST_TEST(assembly.configuration().base.step == Step(4));
  assembly.voted("a", node(1), kOne, Step(4));  // of the old number
  assembly.voted("b", node(2), kTwo, Step(4));
  BOOST_TEST(!assembly.may_commit());
  assembly.voted("a", node(1), kTwo, Step(4));
  BOOST_TEST(assembly.may_commit());
}

// It had promised a later coordinator not to, and its disk forgot that: the new list counted it.
BOOST_AUTO_TEST_CASE(who_has_lost_its_disk_counts_for_the_list_that_has_its_new_one) {
  Change change{{kOne, {"a", "b#1"}, {}}, {kTwo, {"a", "b#2"}, {}}, {"a", "b#2"}};
  BOOST_TEST(!change.holds());
  change.from.voters = {"a", "b#2"};
  BOOST_TEST(change.holds());
}

BOOST_AUTO_TEST_SUITE_END()
