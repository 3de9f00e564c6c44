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
  int sums_changed() const { return static_cast<int>(events->count("gradient_sum_changed")); }
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

/// Sums are used as they are found.
struct Unwatched : Swarm {
  Unwatched() {
    stage_options.check_gradient_sum = false;
    add({"a", "b", "c"});
  }
};

struct Twos : Swarm {
  Twos() { add({"a", "b"}); }
};

struct FlippedSum : Swarm {
  FlippedSum() {
    faults.flip_bit = "stage1b:gradient_sum:3";
    add({"a", "b", "c"});
  }
};

struct FlippedParameter : Swarm {
  FlippedParameter() {
    faults.flip_bit = "stage0a:parameters:3";
    add({"a", "b"});
  }
};

struct FlippedMoment : Swarm {
  FlippedMoment() {
    faults.flip_bit = "stage1a:moments:3";
    add({"a", "b"});
  }
};

struct Ones : Swarm {
  Ones() { add({"a"}); }
};

struct DelayedTwos : Swarm {
  DelayedTwos() {
    training.delayed_updates = true;
    add({"a", "b"});
  }
};

struct AsyncThrees : Swarm {
  explicit AsyncThrees(bool background = false) {
    training.mode = swarm::actors::TrainingMode::kAsync;
    training.background_averaging = background;
    add({"a", "b", "c"});
  }
  /// One bit of what comes back to `name` of an average.
  void flip_in_average(const std::string& name) {
    net.set_reply_filter([this, name, done = false](const swarm::NodeId& asker,
                                                    swarm::actors::Mail& reply) mutable {
      const bool part = reply.kind == swarm::proto::KIND_AVERAGE_PART_REPLY && !reply.body.empty();
      if (done || !part || asker != nodes[name].id) return;
      std::string bytes(reply.body.view());
      bytes[2] ^= 1;
      reply.body = swarm::Buffer::from_string(std::move(bytes));
      done = true;
    });
  }
  void check_fetched(const std::string& name) {
    bool fetched = false;
    for (const auto& state : events->loaded_states)
      fetched |= state.node_name == name && state.source == "neighbours";
    BOOST_TEST(fetched);
    for (int stage = 0; stage < 2; ++stage)
      for (const char* replica : {"b", "c"}) {
        const std::string which = "stage" + std::to_string(stage);
        BOOST_TEST(
            (this->stage(which + replica).parameters() == this->stage(which + "a").parameters()));
      }
  }
};

struct BackgroundThrees : AsyncThrees {
  BackgroundThrees() : AsyncThrees(true) {}
};

struct LocalUpdatesOne : Swarm {
  explicit LocalUpdatesOne(bool checks = true) {
    training.mode = swarm::actors::TrainingMode::kAsync;
    training.local_update_every = 4;
    training.steps = 10;
    stage_options.check_gradient_sum = checks;
    add({"a"});
  }
  /// By what samples add to them they are multiples of the first.
  bool is_whole(const std::string& name) {
    const auto& values = stage(name).parameters();
    return values[5] == 6 * values[0];
  }
};

struct UnwatchedLocalUpdates : LocalUpdatesOne {
  UnwatchedLocalUpdates() : LocalUpdatesOne(false) {}
};

struct Fp16 : Swarm {
  Fp16() {
    averager_options.codec = swarm::tensor::Codec::kFp16;
    add({"a", "b"});
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(WrongNumbers)

BOOST_FIXTURE_TEST_CASE(a_sum_that_is_not_finite_is_computed_again_and_nothing_is_lost, Unwatched) {
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

// A bit of the sum: with the weights of a step nothing shows later that they are wrong.
BOOST_FIXTURE_TEST_CASE(a_sum_that_changed_at_rest_is_dropped_and_computed_again, Threes) {
  BOOST_TEST(run_to_step(1));
  BOOST_TEST(run_until_it_sums("stage1b"));
  flip("stage1b", Memory::kSum);
  BOOST_TEST(run_to_end());
  BOOST_TEST(sums_changed() == 1);
  BOOST_TEST(events->count("replica_replaced") == 0u);
  check_end(6);
}

// The stage before still computes; then the average is due.
BOOST_FIXTURE_TEST_CASE(a_sum_that_changes_after_the_last_add_is_not_averaged, Ones) {
  BOOST_TEST(run_to_step(1));
  const int slots = 8;
  int adds = 0;
  stage("stage1a").not_finite = [&adds](const swarm::MicrobatchKey& key) {
    adds += key.step == swarm::Step(3);
    return false;
  };
  BOOST_TEST(system.advance_until([&] { return adds == slots; }, 20s, 100us));
  flip("stage1a", Memory::kSum);
  BOOST_TEST(run_to_end());
  stage("stage1a").not_finite = nullptr;
  BOOST_TEST(adds == 2 * slots);
  BOOST_TEST(sums_changed() == 1);
  check_end(2);
}

BOOST_FIXTURE_TEST_CASE(with_delayed_updates_a_sum_that_changed_is_not_averaged_either,
                        DelayedTwos) {
  BOOST_TEST(run_to_step(2));
  BOOST_TEST(run_until_it_sums("stage1a"));
  flip("stage1a", Memory::kSum);
  BOOST_TEST(run_to_end());
  BOOST_TEST(sums_changed() == 1);
  check_end(4);
}

BOOST_FIXTURE_TEST_CASE(the_fault_flip_bit_turns_a_bit_of_the_sum_of_one_peer, FlippedSum) {
  BOOST_TEST(run_to_end());
  BOOST_TEST(sums_changed() == 1);
  check_end(6);
}

BOOST_FIXTURE_TEST_CASE(the_fault_flip_bit_turns_a_bit_of_the_parameters, FlippedParameter) {
  BOOST_TEST(run_to_end());
  check_replaced("stage0a");
  check_end(4);
}

BOOST_FIXTURE_TEST_CASE(the_fault_flip_bit_turns_a_bit_of_the_moments, FlippedMoment) {
  BOOST_TEST(run_to_end());
  check_replaced("stage1a");
  check_end(4);
}

BOOST_FIXTURE_TEST_CASE(an_average_that_came_with_another_bit_is_found_right_after, AsyncThrees) {
  BOOST_TEST(run_to_step(1));
  flip_in_average("stage1b");
  BOOST_TEST(run_to_end());
  check_replaced("stage1b");
  check_fetched("stage1b");
}

// Its parameters have gone on: only what it added to them can be compared.
BOOST_FIXTURE_TEST_CASE(so_is_one_that_was_taken_in_the_background, BackgroundThrees) {
  BOOST_TEST(run_to_step(1));
  flip_in_average("stage1b");
  BOOST_TEST(run_to_end());
  check_replaced("stage1b");
  check_fetched("stage1b");
  BOOST_TEST(events->count("averages_differ") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_sum_that_changed_between_local_updates_makes_none, LocalUpdatesOne) {
  BOOST_TEST(run_to_step(1));
  BOOST_TEST(run_until_it_sums("stage1a"));
  flip("stage1a", Memory::kSum);
  BOOST_TEST(run_to_end());
  BOOST_TEST(sums_changed() == 1);
  BOOST_TEST(is_whole("stage0a"));
  BOOST_TEST(is_whole("stage1a"));
}

BOOST_FIXTURE_TEST_CASE(who_does_not_check_its_sum_updates_with_it, UnwatchedLocalUpdates) {
  BOOST_TEST(run_to_step(1));
  BOOST_TEST(run_until_it_sums("stage1a"));
  flip("stage1a", Memory::kSum);
  BOOST_TEST(run_to_end());
  BOOST_TEST(sums_changed() == 0);
  BOOST_TEST(!is_whole("stage1a"));
}

// Its source says one thing to the coordinator and another to who fetches.
BOOST_FIXTURE_TEST_CASE(a_state_that_is_not_what_the_coordinator_says_is_refused, Twos) {
  using swarm::proto::RegisterPeer;
  BOOST_TEST(run_to_end());
  kill("stage0b");
  net.set_filter([](const swarm::NodeId&, const swarm::ActorId&, const swarm::actors::Mail& mail) {
    if (mail.kind != swarm::proto::KIND_REGISTER_PEER) return swarm::sim::Fate::kDeliver;
    auto& message = const_cast<RegisterPeer&>(mail.as<RegisterPeer>());
    if (message.stage() == 0 && message.has_state()) message.set_checksum(1);
    return swarm::sim::Fate::kDeliver;
  });
  system.advance(3s);  // the coordinator has heard it
  start("stage0b");
  BOOST_TEST(system.advance_until([&] { return events->count("state_refused") > 0; }, 20s, 10ms));
  for (const auto& event : events->events)
    if (const auto refused = event.as<swarm::records::StateRefused>()) {
      BOOST_TEST(refused->from == "stage0a");
      BOOST_TEST(refused->right.value == 1u);
    }
  net.set_filter({});
  BOOST_TEST(system.advance_until(
      [&] { return stage("stage0b").parameters() == stage("stage0a").parameters(); }, 60s, 10ms));
}

BOOST_AUTO_TEST_SUITE_END()
