#include "routing/membership/snapshot_list.h"

#include <boost/test/unit_test.hpp>

using swarm::Step;
using swarm::routing::History;
using swarm::routing::SnapshotList;
using Steps = std::vector<Step>;

BOOST_AUTO_TEST_SUITE(SnapshotListTest)

BOOST_AUTO_TEST_CASE(a_snapshot_counts_as_soon_as_it_is_written) {
  SnapshotList list;
  list.listed({Step(20), Step(10)});
  list.saved(Step(30), History());
  BOOST_TEST((list.readable() == Steps{Step(30), Step(20), Step(10)}));
  list.saved(Step(30), History());
  BOOST_TEST((list.all() == Steps{Step(30), Step(20), Step(10)}));
}

BOOST_AUTO_TEST_CASE(what_could_not_be_read_is_not_offered_again) {
  SnapshotList list;
  list.listed({Step(20), Step(10)});
  list.spoiled(Step(20));
  BOOST_TEST((list.readable() == Steps{Step(10)}));
  list.listed({Step(20), Step(10)});
  BOOST_TEST((list.readable() == Steps{Step(10)}));
}

BOOST_AUTO_TEST_CASE(written_again_it_is_good) {
  SnapshotList list;
  list.listed({Step(20), Step(10)});
  list.spoiled(Step(20));
  list.saved(Step(20), History());
  BOOST_TEST((list.readable() == Steps{Step(20), Step(10)}));
}

// Asynchronous mode: a state taken from a neighbour may have the number of one on the disk, which
// the database lists a moment later.
BOOST_AUTO_TEST_CASE(a_number_may_be_spoiled_before_it_is_listed) {
  SnapshotList list;
  list.spoiled(Step(30));
  list.listed({Step(20)});
  list.listed({Step(30), Step(20)});
  BOOST_TEST((list.readable() == Steps{Step(20)}));
}

BOOST_AUTO_TEST_CASE(each_names_its_history_once_it_was_told) {
  SnapshotList list;
  const Steps steps{Step(20), Step(10)};
  BOOST_TEST((list.untold(steps) == Step(20)));
  list.saved(Step(20), History(2));
  list.told(Step(20), History(1));  // of the one before, read while it was written
  BOOST_TEST((list.untold(steps) == Step(10)));
  list.told(Step(10), History(1));
  BOOST_TEST(!list.untold(steps).has_value());
  BOOST_TEST(list.history(Step(20)) == History(2));
  list.forget_newer(Step(10));
  BOOST_TEST((list.untold(steps) == Step(20)));
}

// The disk answers later; nobody is to hear of them until then.
BOOST_AUTO_TEST_CASE(what_is_dropped_is_listed_no_more) {
  SnapshotList list;
  list.listed({Step(20), Step(10)});
  list.forget_newer(Step(10));
  BOOST_TEST((list.all() == std::vector<Step>{Step(10)}));
}

BOOST_AUTO_TEST_CASE(one_of_another_history_than_the_state_of_its_number_is_spoiled) {
  SnapshotList list;
  list.told(Step(20), History(2));
  list.listed({Step(20)});
  list.is_at(Step(20), History(2));
  list.is_at(Step(20), History());
  BOOST_TEST(!list.is_spoiled(Step(20)));
  list.is_at(Step(20), History(1));
  BOOST_TEST(list.is_spoiled(Step(20)));
  BOOST_TEST(list.readable().empty());
}

BOOST_AUTO_TEST_SUITE_END()
