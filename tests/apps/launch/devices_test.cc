#include "apps/launch/devices.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

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

BOOST_AUTO_TEST_CASE(threads_are_crowded_where_several_of_a_peer_share_cores_with_others) {
  config::Experiment experiment;
  for (int i = 0; i < 4; ++i) {
    config::NodeSpec node;
    node.stages = {i};
    experiment.nodes.push_back(node);
  }
  experiment.nodes.emplace_back().trainer = true;
  BOOST_TEST(launch::crowded_threads(experiment, 2) == 0);  // one each: they do not wait for others
  experiment.base.threads = 2;
  BOOST_TEST(launch::crowded_threads(experiment, 2) == 8);
  BOOST_TEST(launch::crowded_threads(experiment, 8) == 0);
  experiment.nodes[1].threads = 1;
  BOOST_TEST(launch::crowded_threads(experiment, 2) == 7);
  experiment.nodes[0].stages = {0, 1};
  BOOST_TEST(launch::crowded_threads(experiment, 2) == 9);  // of each stage
  for (auto& node : experiment.nodes) node.device = "cuda:0";
  BOOST_TEST(launch::crowded_threads(experiment, 2) == 0);
}

BOOST_AUTO_TEST_CASE(threads_wait_briefly_unless_the_user_says_how) {
  const auto spins = [](const char* policy, const char* count) {
    ::unsetenv("OMP_WAIT_POLICY");
    ::unsetenv("GOMP_SPINCOUNT");
    if (policy != nullptr) ::setenv("OMP_WAIT_POLICY", policy, 1);
    if (count != nullptr) ::setenv("GOMP_SPINCOUNT", count, 1);
    launch::spin_briefly();
    const char* found = std::getenv("GOMP_SPINCOUNT");
    const std::string said = found != nullptr ? found : "";
    ::unsetenv("OMP_WAIT_POLICY");
    ::unsetenv("GOMP_SPINCOUNT");
    return said;
  };
  BOOST_TEST(spins(nullptr, nullptr) == "1000");
  BOOST_TEST(spins(nullptr, "7") == "7");
  BOOST_TEST(spins("active", nullptr) == "");
}

BOOST_AUTO_TEST_SUITE_END()
