#include "apps/bench/figures/codec_figures.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

namespace swarm::apps {
namespace {

CodecFigures example() {
  CodecFigures figures;
  figures.values = 1000;
  figures.read_gb_s = {20, 10, 30};
  figures.copy_gb_s = {9, 8, 7};
  figures.codecs = {{"none", 4, {8, 9, 10}, {7, 8, 9}, 0, 0},
                    {"int8", 1.0039, {3, 1, 2.04}, {12, 14, 13}, 0.0123, 0.0201}};
  return figures;
}

BOOST_AUTO_TEST_SUITE(codec_figures)

BOOST_AUTO_TEST_CASE(the_table_shows_the_medians_and_the_errors_of_each_codec) {
  const std::string table = codec_table(example());
  BOOST_TEST(
      table.find("int8   1.0039         2.0          13.0         1.23e-02       2.01e-02\n") !=
          std::string::npos,
      table);
  BOOST_TEST(table.find("read              20.0\n") != std::string::npos, table);
  BOOST_TEST(table.find("copy              8.0\n") != std::string::npos, table);
  BOOST_TEST(table.find("1000 values, medians of 3 rounds") != std::string::npos, table);
}

BOOST_AUTO_TEST_CASE(json_has_every_round) {
  const auto json = nlohmann::json::parse(codec_json(example()))["codec"];
  BOOST_TEST(json["memory"]["read_gb_s"].get<double>() == 20);
  BOOST_TEST(json["codecs"][1]["codec"].get<std::string>() == "int8");
  BOOST_TEST(json["codecs"][1]["encode_gb_s"].get<double>() == 2.04);
  BOOST_TEST(json["codecs"][1]["rounds_decode_gb_s"].size() == 3u);
  BOOST_TEST(json["codecs"][1]["heavy_error"].get<double>() == 0.0201);
}

BOOST_AUTO_TEST_CASE(errors_are_relative_to_the_size_of_the_values) {
  BOOST_TEST(relative_error({3, -4}, {3, -4}) == 0);
  BOOST_TEST(relative_error({3, -4}, {3, -3.5f}) == 0.1);
  BOOST_TEST(relative_error({0, 0}, {0, 0}) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::apps
