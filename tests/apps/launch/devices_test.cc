#include "apps/launch/devices.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using tensor::ComputeType;

BOOST_AUTO_TEST_SUITE(Devices)

BOOST_AUTO_TEST_CASE(who_asks_for_bf16_is_told_where_it_is_computed_in_software) {
  const CpuInstructions old{true, true, false}, recent{true, true, true};
  BOOST_TEST(launch::slow_precision(ComputeType::kBf16, "cpu", old).find("bf16") !=
             std::string::npos);
  BOOST_TEST(launch::slow_precision(ComputeType::kBf16, "cpu", recent) == "");
  BOOST_TEST(launch::slow_precision(ComputeType::kBf16, "cuda:0", old) == "");
  BOOST_TEST(launch::slow_precision(ComputeType::kFp32, "cpu", old) == "");
}

BOOST_AUTO_TEST_SUITE_END()
