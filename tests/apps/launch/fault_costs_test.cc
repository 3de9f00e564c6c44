#include "apps/launch/fault_costs.h"

#include <boost/test/unit_test.hpp>

namespace swarm::launch {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-9);

/// A step a second from 0 on, and the named ones so much later than usual; all after them, too.
std::vector<double> closings(size_t steps,
                             const std::vector<std::pair<size_t, double>>& late = {}) {
  std::vector<double> out;
  double now_s = 0;
  for (size_t step = 0; step < steps; ++step) {
    for (const auto& [which, by_s] : late)
      if (which == step) now_s += by_s;
    out.push_back(now_s);
    now_s += 1;
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(FaultCostsTest)

BOOST_AUTO_TEST_CASE(a_fault_costs_what_its_steps_take_beyond_the_usual) {
  const auto costs = fault_costs(closings(100, {{11, 4}, {12, 2}}), {{10.5, "kill"}});
  BOOST_REQUIRE(costs.size() == 1u);
  BOOST_TEST(costs[0].kind == "kill");
  BOOST_TEST(costs[0].faults == 1u);
  BOOST_TEST(costs[0].median_s == 6, kClose);
}

BOOST_AUTO_TEST_CASE(each_kind_has_a_median_of_its_own_and_one_that_nobody_feels_costs_nothing) {
  const auto costs = fault_costs(
      closings(200, {{21, 1}, {41, 3}, {61, 20}, {81, 5}}),
      {{20.5, "kill"}, {41.5, "kill"}, {64.5, "kill"}, {104.5, "cut"}, {150, "full_disk"}});
  BOOST_REQUIRE(costs.size() == 3u);
  BOOST_TEST((costs[0].kind == "cut" && costs[1].kind == "full_disk" && costs[2].kind == "kill"));
  BOOST_TEST(costs[0].median_s == 5, kClose);
  BOOST_TEST(costs[1].median_s == 0);
  BOOST_TEST(costs[2].faults == 3u);
  BOOST_TEST(costs[2].median_s == 3, kClose);
  BOOST_TEST(costs[2].worst_s == 20, kClose);
}

BOOST_AUTO_TEST_CASE(a_fault_that_strikes_while_the_swarm_stands_still_is_not_charged_for_it) {
  const auto costs = fault_costs(closings(100, {{11, 9}}), {{10.5, "cut"}, {15, "kill"}});
  BOOST_REQUIRE(costs.size() == 2u);
  BOOST_TEST(costs[0].median_s == 9, kClose);
  BOOST_TEST(costs[1].median_s == 0);
}

BOOST_AUTO_TEST_CASE(what_is_slow_before_the_first_fault_and_a_little_slower_is_nobodys) {
  const auto costs = fault_costs(closings(100, {{5, 7}, {30, 0.4}}), {{20, "stop"}});
  BOOST_REQUIRE(costs.size() == 1u);
  BOOST_TEST(costs[0].median_s == 0);
}

BOOST_AUTO_TEST_CASE(without_steps_or_faults_there_are_no_costs) {
  BOOST_TEST(fault_costs({1}, {{1, "kill"}}).empty());
  BOOST_TEST(fault_costs(closings(9), {}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
