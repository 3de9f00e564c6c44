#include "routing/steps/slot_samples.h"

#include <boost/test/unit_test.hpp>

namespace swarm::routing {
namespace {

using Samples = std::vector<uint64_t>;
const StepSizes kSizes{/*steps=*/10, /*batch=*/8, /*microbatch=*/2};

BOOST_AUTO_TEST_SUITE(SlotSamplesTest)

BOOST_AUTO_TEST_CASE(a_steps_slots_are_its_batch_in_order) {
  BOOST_TEST((samples_of({Step(0), 0, false}, kSizes) == Samples{0, 1}));
  BOOST_TEST((samples_of({Step(3), 2, false}, kSizes) == Samples{28, 29}));
}

BOOST_AUTO_TEST_CASE(those_of_validation_begin_anew_behind_those_of_training) {
  BOOST_TEST((samples_of({Step(3), 4, true}, kSizes) == Samples{0, 1}));
  BOOST_TEST((samples_of({Step(3), 6, true}, kSizes) == Samples{4, 5}));
  BOOST_TEST((samples_of({Step(10), 1, true}, kSizes) == Samples{2, 3}));  // after the last step
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
