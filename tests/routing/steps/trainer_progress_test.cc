#include "routing/steps/trainer_progress.h"

#include <boost/test/unit_test.hpp>

namespace swarm::routing {
namespace {

BOOST_AUTO_TEST_SUITE(TrainerProgressTest)

BOOST_AUTO_TEST_CASE(a_line_every_few_seconds_tells_what_was_done_since_the_last) {
  TrainerProgress progress;
  BOOST_TEST(!progress.take(1e9).has_value());
  progress.trained(Step(3), 8.0, 4, 100);
  BOOST_TEST(!progress.take(104).has_value());
  progress.trained(Step(4), 4.0, 4, 104);
  const auto line = progress.take(105);
  BOOST_REQUIRE(line.has_value());
  BOOST_TEST(line->step.value() == 4u);
  BOOST_TEST(line->loss == 1.5);
  BOOST_TEST(line->samples_per_s == 1.6);
  BOOST_TEST(!progress.take(120).has_value());  // nothing was done since
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
