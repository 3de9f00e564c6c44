// A node id is new at each start of a process: what links keep by id must end.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "actors/net/links/node_table.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(ManyProcesses)

BOOST_AUTO_TEST_CASE(nodes_that_were_met_are_forgotten_a_minute_after_their_last_use) {
  constexpr uint32_t kMany = 100'000;
  NodeTable table(testing::node(0));
  size_t most = 0;
  auto now = NodeTable::TimePoint{} + 1h;
  for (uint32_t i = 1; i <= kMany; ++i, now += 100ms) {
    table.told(testing::node(i), {"10.0.0.1", 7}, now);
    table.up({testing::node(i), "n", {"10.0.0.1", 7}, false}, {}, i, now);
    table.lost(testing::node(i), i, now);
    if (i % 10 == 0)
      for (const NodeId& id : table.idle(now)) table.forget(id);
    most = std::max(most, table.all().size());
  }
  BOOST_TEST(most < 700u);
}

BOOST_AUTO_TEST_SUITE_END()
