#include "apps/bench/figures/throughput_figures.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace swarm::apps;

namespace {

ThroughputFigures some() { return {4, "bf16", 2, {120, 90, 130}, {100, 100, 100}, {}}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(ThroughputFiguresSuite)

BOOST_AUTO_TEST_CASE(a_ratio_is_of_the_two_sides_of_a_round) {
  const std::vector<double> expected{1.2, 0.9, 1.3};
  BOOST_TEST(ratios(some()) == expected, boost::test_tools::tolerance(1e-12)
                                             << boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_round_that_only_one_side_has_finished_has_none) {
  ThroughputFigures figures = some();
  figures.alone.pop_back();
  BOOST_TEST(ratios(figures).size() == 2u);
  figures.alone.front() = 0;
  BOOST_TEST(ratios(figures).front() == 0);
}

BOOST_AUTO_TEST_CASE(no_swarm_does_more_than_its_cores_each_for_itself) {
  ThroughputFigures figures = some();
  BOOST_TEST(bounds(figures).empty());
  figures.one_thread = {60, 50, 70};
  const std::vector<double> expected{1.2, 1.0, 1.4};
  BOOST_TEST(bounds(figures) == expected, boost::test_tools::tolerance(1e-12)
                                              << boost::test_tools::per_element());
  BOOST_TEST(throughput_table({figures}).find("1.20 0.90 1.30  1.20") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_median_of_the_ratios_counts) {
  const auto json = nlohmann::json::parse(throughput_json("pipeline", {some()}));
  BOOST_TEST(json["pipeline"][0]["ratio"].get<double>() == 1.2,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(json["pipeline"][0]["threads"].get<int>() == 2);
  const std::string table = throughput_table({some()});
  BOOST_TEST(table.find("1.20 0.90 1.30") != std::string::npos);
  BOOST_TEST(table.find("bf16") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
