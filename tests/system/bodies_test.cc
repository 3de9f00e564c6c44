/// Activations that are large for the memory and the links of those who hold them.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

BOOST_AUTO_TEST_SUITE(LargeBodies)

/// 16 microbatches of 1 MiB under way, and room to receive 8: the second stage had no room for the
/// gradients that would have freed some, and no step ever ended.
BOOST_AUTO_TEST_CASE(three_stages_that_hold_more_than_they_may_receive_train_on) {
  TemporaryFolder folder;
  std::string config = tiny_config();
  config.replace(config.rfind('/'), std::string::npos, "/bodies.toml");
  Process process({"run", config, "--set", "run.folder=" + folder.path()},
                  folder.path() + "/output.txt");
  BOOST_REQUIRE_MESSAGE(process.wait() == 0, process.output());
  BOOST_TEST(newest_run(folder.path()).steps_closed() >= 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
