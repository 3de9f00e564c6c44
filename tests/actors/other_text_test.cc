// A run learns from one text, whoever brings another one (routing/membership/text_check.h).
#include <boost/test/unit_test.hpp>

#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using swarm::testing::SimSwarm;

namespace {

constexpr uint64_t kOther = 2;  // the simulator's machines have text 1

/// Three stages, two trainers; trainer-b has another text.
struct TwoTexts : SimSwarm {
  TwoTexts() {
    training.steps = 12;
    texts["trainer-b"].fingerprint = kOther;
    for (int stage = 0; stage < 3; ++stage)
      for (const char* replica : {"a", "b"})
        add_peer("stage" + std::to_string(stage) + replica, stage);
    add_trainer("trainer-a");
  }
  /// What the node's trainer says of itself.
  std::string trainer(const std::string& name) { return describe(nodes.at(name).actors.back()); }
  bool idle(const std::string& name) {
    return trainer(name).find("done 0, failed 0") != std::string::npos;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(OtherText)

// It was accepted and trained on, and the audit said "exact".
BOOST_FIXTURE_TEST_CASE(a_trainer_with_another_text_gets_no_work, TwoTexts) {
  BOOST_REQUIRE(run_to_step(1));
  add_trainer("trainer-b");
  BOOST_TEST(run_to_end());
  system.advance(5s);
  BOOST_TEST(idle("trainer-b"), trainer("trainer-b"));
  BOOST_TEST(events->count("other_text") == 2u);  // the coordinator and its own node, once each
  BOOST_TEST(check_parameters() == "");
}

// The coordinator that takes over is on the stranger's node: the peers tell it.
BOOST_FIXTURE_TEST_CASE(the_text_outlives_the_coordinator_that_learned_of_it, TwoTexts) {
  BOOST_REQUIRE(run_to_step(2));
  kill("trainer-a");
  add_trainer("trainer-b");
  system.advance(20s);
  BOOST_TEST(events->count("coordinator") >= 2u);
  BOOST_TEST(idle("trainer-b"), trainer("trainer-b"));
  start("trainer-a");
  BOOST_TEST(run_to_end());
  BOOST_TEST(idle("trainer-b"), trainer("trainer-b"));
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(the_text_outlives_all_processes, TwoTexts) {
  BOOST_REQUIRE(run_to_step(4));
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes) names.push_back(name);
  for (const auto& name : names) kill(name);
  texts["trainer-a"].fingerprint = kOther;
  for (const auto& name : names) start(name);
  system.advance(20s);
  BOOST_TEST(idle("trainer-a"), trainer("trainer-a"));
  kill("trainer-a");
  texts["trainer-a"].fingerprint = 1;
  start("trainer-a");
  BOOST_TEST(run_to_end());
  BOOST_TEST(check_parameters() == "");
}

BOOST_AUTO_TEST_SUITE_END()
