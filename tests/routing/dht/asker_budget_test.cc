#include "routing/dht/asker_budget.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

constexpr uint64_t kMiB = 1 << 20;

int passed(AskerBudget& budget, uint32_t asker, int tries, double now_s) {
  int passed = 0;
  for (int i = 0; i < tries; ++i) passed += budget.may(node(asker), kMiB, now_s) ? 1 : 0;
  return passed;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(AskerBudgetTest)

BOOST_AUTO_TEST_CASE(who_asks_for_much_waits_and_keeps_nobody_waiting) {
  AskerBudget budget;
  BOOST_TEST(passed(budget, 1, 100, 10) == 5);  // the burst, and one that makes the debt
  BOOST_TEST(passed(budget, 2, 1, 10) == 1);
  BOOST_TEST(passed(budget, 1, 100, 12) == 2);
  BOOST_TEST(passed(budget, 1, 100, 100) == 5);
}

BOOST_AUTO_TEST_CASE(as_many_as_come_are_remembered_as_have_places) {
  AskerBudget budget;
  for (uint32_t asker = 1; asker <= 20'000; ++asker) budget.may(node(asker), 8 * kMiB, 10);
  BOOST_TEST(budget.askers() <= AskerBudget::kMaxAskers + 1);
  BOOST_TEST(!budget.may(node(30'000), 1, 11));  // one of too many
  BOOST_TEST(budget.may(node(30'000), 1, 60));
  BOOST_TEST(budget.askers() < 3);
}

BOOST_AUTO_TEST_SUITE_END()
