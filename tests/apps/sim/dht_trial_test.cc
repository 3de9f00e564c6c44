#include "apps/sim/dht_trial.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "tests/support/sanitized.h"

using namespace swarm;

namespace {

sim::DhtTrialOptions small(int nodes) {
  sim::DhtTrialOptions options;
  options.nodes = nodes;
  options.samples = 20;
  options.counted_s = 20;
  return options;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(DhtTrial)

BOOST_AUTO_TEST_CASE(every_store_and_read_ends_and_nothing_is_lost_with_the_dead) {
  const auto figures = sim::run_dht_trial(small(30));
  BOOST_TEST(figures.killed == 9);
  BOOST_TEST(figures.after_s.size() == 20u);
  BOOST_TEST(figures.expected > 0u);
  BOOST_TEST(figures.found == figures.expected);
  // Of what is kept by the one who asks no time is taken, and none counted.
  BOOST_TEST(figures.store_s.size() > 10u);
  BOOST_TEST(figures.first_s.size() > 10u);
  const double least = 0.02;  // there and back
  for (const auto* all : {&figures.store_s, &figures.first_s, &figures.again_s})
    for (const double seconds : *all) BOOST_TEST(seconds >= least);
}

BOOST_AUTO_TEST_CASE(what_was_read_once_takes_one_round_trip_the_next_time) {
  const auto figures = sim::run_dht_trial(small(30));
  BOOST_TEST(median(figures.again_s) <= median(figures.first_s));
  for (const double seconds : figures.again_s) BOOST_TEST(seconds <= 0.101);
}

BOOST_AUTO_TEST_CASE(what_a_node_says_does_not_grow_with_the_swarm,
                     *boost::unit_test::enable_if<!swarm::testing::kSanitized>()) {
  const auto few = sim::run_dht_trial(small(20)), many = sim::run_dht_trial(small(60));
  BOOST_TEST(many.messages_per_s < 1.5 * few.messages_per_s);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_figures) {
  BOOST_TEST(apps::dht_json({sim::run_dht_trial(small(12))}) ==
             apps::dht_json({sim::run_dht_trial(small(12))}));
}

BOOST_AUTO_TEST_CASE(what_was_not_measured_is_a_dash) {
  apps::DhtFigures none;
  none.nodes = 2;
  BOOST_TEST(apps::dht_table({none}).find(" - ") != std::string::npos);
  const auto json = nlohmann::json::parse(apps::dht_json({none}));
  BOOST_TEST(json["dht"][0]["store_s"].empty());
}

BOOST_AUTO_TEST_SUITE_END()
