#include "apps/bench/figures/startup_figures.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

namespace swarm::apps {
namespace {

StartupFigures example() {
  StartupFigures figures;
  figures.commands = {{{"--help"}, {11, 30, 12}},
                      {{"console", "127.0.0.1:4000", "-c", "nodes"}, {40, 41, 60}}};
  figures.nodes = {{"seed", 15.54}, {"trainer", 16.0}};
  return figures;
}

BOOST_AUTO_TEST_SUITE(startup_figures)

BOOST_AUTO_TEST_CASE(the_table_shows_median_and_slowest_of_each_command_without_the_port) {
  const std::string table = startup_table(example());
  BOOST_TEST(table.find("swarm console NODE -c nodes  41.0       60.0        3\n") !=
             std::string::npos);
  BOOST_TEST(table.find("seed               15.5\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(json_has_every_round_and_every_node) {
  const auto json = nlohmann::json::parse(startup_json(example()))["startup"];
  BOOST_TEST(json["commands"][0]["median_ms"].get<double>() == 12);
  BOOST_TEST(json["commands"][0]["slowest_ms"].get<double>() == 30);
  BOOST_TEST(json["commands"][1]["command"].get<std::string>() == "swarm console NODE -c nodes");
  BOOST_TEST(json["commands"][1]["rounds_ms"].size() == 3u);
  BOOST_TEST(json["nodes"][1]["role"].get<std::string>() == "trainer");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::apps
