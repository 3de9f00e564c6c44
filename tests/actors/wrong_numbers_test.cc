// Numbers that a broken memory or a codec makes of the right ones: found, named, repaired.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>

#include "tests/support/sim_swarm.h"

namespace swarm::sim {

/// An element of what a stage holds, to be changed behind its back.
struct BrokenMemory {
  enum class What { kParameters, kMoments, kSum };
  static float& cell(ArithmeticStage& stage, What what, uint64_t i) {
    if (what == What::kParameters) return stage.state_.parameters()[i];
    return what == What::kMoments ? stage.state_.moments()[i] : stage.sum_[i];
  }
};

}  // namespace swarm::sim

using namespace std::chrono_literals;
using swarm::sim::ArithmeticStage;
using swarm::sim::BrokenMemory;
using swarm::testing::SimSwarm;
using Memory = BrokenMemory::What;

namespace {

struct Swarm : SimSwarm {
  Swarm() {
    num_stages = 2;
    training.steps = 40;  // enough for who fetches to be back before the end
  }

  void add(const std::vector<std::string>& replicas) {
    for (int stage = 0; stage < 2; ++stage)
      for (const auto& replica : replicas)
        add_peer("stage" + std::to_string(stage) + replica, stage);
    add_trainer("trainer");
  }
  ArithmeticStage& stage(const std::string& name) { return *nodes[name].arithmetic; }
  /// Until a new step has brought something into the peer's gradient sum.
  bool run_until_it_sums(const std::string& name) {
    auto sums = [this, &name] { return BrokenMemory::cell(stage(name), Memory::kSum, 0) != 0; };
    return system.advance_until([&] { return !sums(); }, 20s, 100us) &&
           system.advance_until(sums, 20s, 100us);
  }
  /// One bit of the memory, while nobody computes with it.
  void flip(const std::string& name, Memory memory) {
    float& cell = BrokenMemory::cell(stage(name), memory, 5);
    uint32_t bits = 0;
    std::memcpy(&bits, &cell, sizeof bits);
    bits ^= 1u << 20;
    std::memcpy(&cell, &bits, sizeof bits);
  }
  void check_replaced(const std::string& name) {
    int named = 0;
    for (const auto& event : events->events)
      if (const auto found = event.as<swarm::records::ReplicaReplaced>()) {
        named += found->peer == name;
        BOOST_TEST(found->checksum.value != found->right.value);
      }
    BOOST_TEST(named == 1, name << " was replaced " << named << " times");
  }
  void check_end(int replicas) {
    BOOST_TEST(check_parameters() == "");
    BOOST_TEST(checked == replicas);
  }
};

struct Threes : Swarm {
  Threes() { add({"a", "b", "c"}); }
};

struct Twos : Swarm {
  Twos() { add({"a", "b"}); }
};

struct DelayedTwos : Swarm {
  DelayedTwos() {
    training.delayed_updates = true;
    add({"a", "b"});
  }
};

struct Fp16 : Swarm {
  Fp16() {
    averager_options.codec = swarm::tensor::Codec::kFp16;
    add({"a", "b"});
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(WrongNumbers)

BOOST_FIXTURE_TEST_CASE(a_sum_that_is_not_finite_is_computed_again_and_nothing_is_lost, Threes) {
  BOOST_TEST(run_to_step(1));
  BOOST_TEST(run_until_it_sums("stage1b"));
  BrokenMemory::cell(stage("stage1b"), Memory::kSum, 3) = std::numeric_limits<float>::infinity();
  BOOST_TEST(run_to_end());
  BOOST_REQUIRE(events->count("sum_not_finite") == 1u);
  for (const auto& event : events->events)
    if (const auto found = event.as<swarm::records::SumNotFinite>())
      BOOST_TEST(found->peer == "stage1b");
  BOOST_TEST(events->count("commit_failed") == 0u);
  BOOST_TEST(events->count("slot_skipped") == 0u);
  check_end(6);
}

BOOST_FIXTURE_TEST_CASE(sums_that_a_codec_cannot_carry_are_named_and_do_not_wedge_the_run, Fp16) {
  // The last parameter of this arithmetic grows beyond 65504 in most sums.
  BOOST_TEST(system.advance_until([this] { return finished() || events->count("diverged") > 0; },
                                  120s, 10ms));
  BOOST_TEST(events->count("sum_not_finite") > 0u);
  BOOST_TEST(events->count("commit_failed") == 0u);
}

BOOST_FIXTURE_TEST_CASE(of_three_replicas_the_odd_one_fetches, Threes) {
  BOOST_TEST(run_to_step(1));
  flip("stage1a", Memory::kParameters);
  BOOST_TEST(run_to_end());
  check_replaced("stage1a");
  check_end(6);
}

// What the parameters do not show yet.
BOOST_FIXTURE_TEST_CASE(a_bit_of_a_moment_is_seen_as_well, Threes) {
  BOOST_TEST(run_to_step(1));
  flip("stage0b", Memory::kMoments);
  BOOST_TEST(run_to_end());
  check_replaced("stage0b");
  check_end(6);
  const auto& moments = stage("stage0b").state();
  BOOST_TEST(moments.moments_checksum() == stage("stage0a").state().moments_checksum());
}

BOOST_FIXTURE_TEST_CASE(of_two_replicas_the_one_that_changed_at_rest_fetches, Twos) {
  BOOST_TEST(run_to_step(1));
  flip("stage1a", Memory::kParameters);
  BOOST_TEST(run_to_step(2));
  BOOST_TEST(run_to_step(3));
  flip("stage0b", Memory::kMoments);
  BOOST_TEST(run_to_end());
  check_replaced("stage1a");
  check_replaced("stage0b");
  check_end(4);
}

BOOST_FIXTURE_TEST_CASE(with_delayed_updates_the_odd_one_fetches_too, DelayedTwos) {
  BOOST_TEST(run_to_step(2));
  flip("stage1a", Memory::kParameters);
  BOOST_TEST(run_to_end());
  check_replaced("stage1a");
  check_end(4);
}

BOOST_AUTO_TEST_SUITE_END()
