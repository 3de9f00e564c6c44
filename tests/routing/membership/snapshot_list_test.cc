#include "routing/membership/snapshot_list.h"

#include <boost/test/unit_test.hpp>

using swarm::Step;
using swarm::routing::SnapshotList;
using Steps = std::vector<Step>;

BOOST_AUTO_TEST_SUITE(SnapshotListTest)

BOOST_AUTO_TEST_CASE(a_snapshot_counts_as_soon_as_it_is_written) {
  SnapshotList list;
  list.listed({Step(20), Step(10)});
  list.saved(Step(30));
  BOOST_TEST((list.readable() == Steps{Step(30), Step(20), Step(10)}));
  list.saved(Step(30));
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
  list.saved(Step(20));
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

BOOST_AUTO_TEST_SUITE_END()
