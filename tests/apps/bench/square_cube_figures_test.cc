#include "apps/bench/figures/square_cube_figures.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace swarm::apps;

namespace {

/// Compute grows with the square of the width, transfer with the width; equal at 500.
std::vector<WidthFigures> square_and_line() {
  std::vector<WidthFigures> all;
  for (const int width : {100, 200, 400, 800}) {
    const double w = width;
    all.push_back({width, w * w, w, {w * w / 500 * 1e-3, 1, w * w / 500 * 1e-3}, {w * 1e-3}});
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SquareCubeFigures)

BOOST_AUTO_TEST_CASE(the_exponent_of_a_power_is_found) {
  const auto found = growth({1, 2, 4, 8}, {3, 12, 48, 192});
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->exponent == 2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(found->at(16) == 768, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(one_width_or_nothing_measured_has_no_growth) {
  BOOST_TEST(!growth({}, {}).has_value());
  BOOST_TEST(!growth({256}, {1}).has_value());
  BOOST_TEST(!growth({256, 256}, {1, 2}).has_value());
  BOOST_TEST(!growth({256, 512}, {1, 0}).has_value());
  BOOST_TEST(!crossing({}).has_value());
}

BOOST_AUTO_TEST_CASE(they_cross_where_both_take_as_long) {
  const auto width = crossing(square_and_line());
  BOOST_REQUIRE(width.has_value());
  BOOST_TEST(*width == 500, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(what_grows_slower_than_sending_never_catches_up) {
  auto all = square_and_line();
  for (auto& one : all) one.compute_s = {1};
  BOOST_TEST(!crossing(all).has_value());
}

BOOST_AUTO_TEST_CASE(one_at_a_time_waits_for_both_ways_and_the_round_trip) {
  const WidthFigures figures{4096, 0, 0, {0.6}, {0.3}};
  const LinkFigures link{62.5e6, 0.1};
  BOOST_TEST(utilisation_alone(figures, link) == 0.6, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(utilisation_overlapped(figures) == 1);
  const WidthFigures narrow{64, 0, 0, {0.03}, {0.3}};
  BOOST_TEST(utilisation_overlapped(narrow) == 0.2, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(table_and_json_say_the_same) {
  const LinkFigures link{1e6, 0.05};
  const auto json = nlohmann::json::parse(square_cube_json(square_and_line(), link));
  BOOST_TEST(json["compute_exponent"].get<double>() == 2, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(json["crossing_width"].get<double>() == 500, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(json["square_cube"].size() == 4u);
  const auto table = square_cube_table(square_and_line(), link);
  BOOST_TEST(table.find("computing ^2.00, sending ^1.00") != std::string::npos);
  BOOST_TEST(table.find("from width 500 on") != std::string::npos);
  BOOST_TEST(nlohmann::json::parse(square_cube_json({}, link))["crossing_width"].is_null());
}

BOOST_AUTO_TEST_SUITE_END()
