#include "tensor/torch/device.h"

#include <boost/test/unit_test.hpp>

#include "tests/tensor/torch/stage_fixture.h"

namespace swarm::tensor {

BOOST_AUTO_TEST_SUITE(Devices)

BOOST_AUTO_TEST_CASE(names_are_parsed_strictly) {
  BOOST_TEST(!parse_device("cpu")->cuda);
  BOOST_TEST(parse_device("cuda")->cuda);
  BOOST_TEST(parse_device("cuda")->index == 0);
  BOOST_TEST(parse_device("cuda:17")->index == 17);
  for (const char* wrong : {"", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:1x", "cuda:100", "cpu:0"})
    BOOST_TEST((parse_device(wrong).code() == ErrorCode::kInvalidArgument), wrong);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_refused_by_name) {
  BOOST_TEST(check_device("cpu").ok());
  StageOptions options = stage_options(0, 2);
  options.device = "cuda:99";
  auto stage = open_stage(options);
  BOOST_REQUIRE(!stage.ok());
  BOOST_TEST((stage.code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(stage.error().detail.find("device \"cuda:99\": ") == 0u);
  BOOST_TEST(stage.error().detail.find("node.device") != std::string::npos);
  options.device = "tpu";
  BOOST_TEST((open_stage(options).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
