#include "apps/bench/figures/checkpoint_figures.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace swarm::apps {
namespace {

CheckpointFigures some() {
  CheckpointFigures figures;
  figures.parameters = 50'000'000;
  figures.bytes = 600'000'000;
  figures.freeze_s = {0.3, 0.1, 0.2};
  figures.write_s = {1, 2, 4};
  figures.raw_s = {0.5, 1.8, 2.4};
  figures.cpu_s = {0.7, 0.9, 0.8};
  figures.quiet_steps_s = {2, 2.2, 9};
  figures.busy_steps_s = {2.1, 2.75};
  return figures;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CheckpointBench)

BOOST_AUTO_TEST_CASE(figures_are_medians_of_what_belongs_together) {
  const auto figures = some();
  BOOST_TEST(cpu_per_100_million(figures) == 1.6, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(share_of_raw(figures) == 0.6, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(longest_step(figures) == 1.25, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(nothing_measured_is_zero) {
  const CheckpointFigures none;
  BOOST_TEST(cpu_per_100_million(none) == 0);
  BOOST_TEST(share_of_raw(none) == 0);
  BOOST_TEST(longest_step(none) == 0);
  BOOST_TEST(!checkpoint_table(none).empty());
}

BOOST_AUTO_TEST_CASE(both_forms_say_the_same) {
  const std::string table = checkpoint_table(some());
  for (const char* part : {"0.200", "3.00", "2.000", "1.60", "60 %", "1.25", "600.0 MB"})
    BOOST_TEST(table.find(part) != std::string::npos, part << " in\n" << table);
  const auto json = nlohmann::json::parse(checkpoint_json(some()))["checkpoint"];
  BOOST_TEST(json["share_of_raw"].get<double>() == 0.6, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(json["rounds_write_s"].size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::apps
