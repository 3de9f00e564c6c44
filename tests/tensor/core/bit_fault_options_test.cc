#include "tensor/core/bit_fault_options.h"

#include <boost/test/unit_test.hpp>

namespace swarm::tensor {
namespace {

BOOST_AUTO_TEST_SUITE(BitFaults)

BOOST_AUTO_TEST_CASE(node_part_and_step_are_read) {
  const auto fault = parse_bit_fault("s1-a.b:gradient_sum:12");
  BOOST_REQUIRE(fault.has_value());
  BOOST_TEST(fault->node == "s1-a.b");
  BOOST_TEST((fault->part == StatePart::kGradientSum));
  BOOST_TEST(fault->step == 12u);
  BOOST_TEST((parse_bit_fault("a:parameters:0")->part == StatePart::kParameters));
  BOOST_TEST((parse_bit_fault("a:moments:0")->part == StatePart::kMoments));
  BOOST_TEST((parse_bit_fault("a:contribution:0")->part == StatePart::kContribution));
}

BOOST_AUTO_TEST_CASE(anything_else_is_no_fault) {
  for (const char* text : {"", "a", "a:moments", "a:moments:", ":moments:1", "a:weights:1",
                           "a:moments:-1", "a:moments:1:2", "a:moments:1 ", "a:moments:x", "::"})
    BOOST_TEST(!parse_bit_fault(text).has_value(), "'" << text << "'");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::tensor
