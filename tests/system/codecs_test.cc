/// Swarms whose tensors travel in eight bits, wherever tensors travel: activations, their gradients
/// and averages. `swarm verify` does their steps again, rounding as they did.
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

constexpr int64_t kSteps = 40;

struct Coded {
  explicit Coded(const std::string& codec, const std::string& lost = "")
      : process({"run", tiny_config(), "--set", "run.folder=" + folder.path(), "--set",
                 "wire.activations=" + codec, "--set", "wire.gradients=" + codec, "--set",
                 "wire.averaging=" + codec, "--set", "training.steps=" + std::to_string(kSteps),
                 "--set", "faults.drop_gradient=" + lost},
                folder.path() + "/output.txt"),
        run(newest_run(folder.path())) {
    BOOST_REQUIRE_MESSAGE(process.wait() == 0, process.output());
  }
  std::pair<int, std::string> ask(const std::string& command) {
    Process tool({command, run.path()}, folder.path() + "/" + command + ".txt");
    const int code = tool.wait();
    return {code, tool.output()};
  }
  double loss_of(int64_t step) const {
    for (const auto& line : run.lines("metrics.jsonl"))
      if (line.value("step", int64_t{-1}) == step) return line.value("train_loss", 0.0);
    return 0;
  }
  /// Every sample counted once, all replicas of the same bits, the model learned; and `verify`, which rounds as
  /// the swarm did, calls it equal.
  void check() {
    const auto [audit, said] = ask("audit");
    BOOST_TEST(audit == 0, said);
    BOOST_TEST(run.events("replicas_differ").empty());
    std::set<std::pair<int64_t, int64_t>> equal;  // step and stage
    for (const auto& event : run.events("replicas_equal"))
      equal.insert({event.value("step", int64_t{-1}), event.value("stage", int64_t{-1})});
    BOOST_TEST(equal.size() >= size_t{2} * kSteps * 3 / 4);
    BOOST_TEST(loss_of(kSteps - 1) < loss_of(0) - 1.0);
    const auto [verify, what] = ask("verify");
    BOOST_TEST(verify == 0, what);
    BOOST_TEST(what.find("worst relative difference") != std::string::npos, what);
  }

  TemporaryFolder folder;
  Process process;
  RunFolder run;
};

BOOST_AUTO_TEST_SUITE(Codecs)

BOOST_AUTO_TEST_CASE(a_swarm_in_int8_trains_and_is_exact) { Coded("int8").check(); }

// Its slot counts, so all else is exact.
BOOST_AUTO_TEST_CASE(a_gradient_that_is_lost_is_found_beside_codecs) {
  Coded swarm("int8", "23:1");
  BOOST_TEST(swarm.ask("audit").first == 0);
  const auto [verify, what] = swarm.ask("verify");
  BOOST_TEST(verify == 1, what);
  BOOST_TEST(what.find("steps 20 to 40") != std::string::npos, what);
  BOOST_TEST(what.find("NOT EQUAL") != std::string::npos, what);
}

BOOST_AUTO_TEST_CASE(a_swarm_in_int8_linear_trains_and_is_exact) { Coded("int8_linear").check(); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
