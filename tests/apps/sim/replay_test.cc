// The recorded steps of a run once more, with stages whose arithmetic is known.
#include "apps/replay/replay.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <vector>

#include "apps/sim/arithmetic_stage.h"
#include "apps/sim/replay_check.h"

using namespace swarm;
using namespace swarm::replay;
using namespace swarm::sim;
using launch::RecordedMember;
using launch::RecordedStep;

namespace {

constexpr uint32_t kStages = 2, kSlots = 4, kMicrobatch = 2, kBatch = kSlots * kMicrobatch;

/// Other parts are cut into other chunks.
ReplayOptions options_with(tensor::Codec codec) {
  ReplayOptions options;
  options.averaging.codec = codec;
  options.averaging.chunk_elements = 12;
  options.feeds_errors_back = codec != tensor::Codec::kNone;
  options.batch = kBatch;
  options.microbatch = kMicrobatch;
  return options;
}

/// Two peers a stage.
struct World : ArithmeticReplay {
  explicit World(tensor::Codec codec = tensor::Codec::kNone)
      : ArithmeticReplay(options_with(codec), kStages, /*rounding_bits=*/1) {}

  static RecordedStep step(uint64_t number, bool gave_back = false) {
    RecordedStep step;
    step.step = step.computed_on = number;
    step.first_sample = number * kBatch;
    step.slots = kSlots;
    step.microbatch = kMicrobatch;
    step.samples = kBatch;
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      launch::RecordedRound round;
      round.round = number + 1;
      round.members = {{"a", {0, 3}, true, gave_back}, {"b", {2, 1}, true, gave_back}};
      step.rounds.push_back(round);
    }
    return step;
  }
  /// One after another; nothing is computed ahead.
  void train(const RecordedStep& step) {
    const auto done = replay->train(step, nullptr);
    BOOST_REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : to_string(done.error())));
  }
  float first(uint32_t stage) const { return arithmetic[stage]->parameters().front(); }
  /// Mean gradient of a step at the first parameter. `weights`: of all stages.
  static double mean(uint64_t step, uint32_t stage, int64_t weights, int64_t own) {
    double sum = 0;
    for (uint64_t i = 0; i < kBatch; ++i)
      sum += static_cast<double>(gradient_of(sample_value(step * kBatch + i), stage, weights, own));
    return sum / kBatch;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ReplayTest)

BOOST_AUTO_TEST_CASE(each_sample_counts_once_whoever_held_it) {
  World world;
  world.train(World::step(0));
  int64_t weights = 0;
  std::vector<int64_t> own;
  for (uint32_t stage = 0; stage < kStages; ++stage) {
    BOOST_TEST(world.first(stage) == -World::mean(0, stage, 0, 0));
    own.push_back(weight_of(world.first(stage)));
    weights += own.back();
  }
  BOOST_TEST(weights > 0);
  const float before = world.first(1);
  world.train(World::step(1));
  BOOST_TEST(world.first(1) == before - World::mean(1, 1, weights, own[1]));
  BOOST_TEST(world.replay->step() == 2u);
  BOOST_TEST(world.replay->rounds() == 4u);
  BOOST_TEST(world.replay->same_rounds() == 0u);  // no digest was recorded
}

BOOST_AUTO_TEST_CASE(a_skipped_slot_is_in_no_sum) {
  World world;
  RecordedStep step = World::step(0);
  step.skipped = {3};
  step.samples = kBatch - kMicrobatch;
  for (auto& round : step.rounds) round.members[0].slots = {0};
  world.train(step);
  double sum = 0;
  for (uint64_t i = 0; i < kBatch - kMicrobatch; ++i)
    sum += static_cast<double>(gradient_of(sample_value(i), 0, 0, 0));
  BOOST_TEST(world.first(0) == static_cast<float>(-sum / (kBatch - kMicrobatch)),
             boost::test_tools::tolerance(1e-6f));
}

BOOST_AUTO_TEST_CASE(a_delayed_step_is_computed_before_the_update_ahead_of_it) {
  World world;
  RecordedStep next = World::step(1);
  next.computed_on = 0;
  BOOST_REQUIRE(world.replay->train(World::step(0), &next).ok());
  const float before = world.first(0);
  BOOST_TEST(weight_of(before) != 0);
  world.train(next);
  BOOST_TEST(world.first(0) == before - World::mean(1, 0, 0, 0));
}

BOOST_AUTO_TEST_CASE(what_was_given_back_shows) {
  std::vector<float> ends;
  for (const bool gave_back : {true, false}) {
    World world(tensor::Codec::kInt8);
    world.train(World::step(0));
    BOOST_TEST(world.first(0) != -World::mean(0, 0, 0, 0));
    world.train(World::step(1, gave_back));
    ends.push_back(world.arithmetic[0]->parameters()[7]);
  }
  BOOST_TEST(ends[0] != ends[1]);
}

// All vectors of these stages are multiples of one another, so who held what does not show in them.
BOOST_AUTO_TEST_CASE(who_reduced_how_much_shows_beside_a_codec) {
  std::vector<std::vector<float>> ends;
  for (const bool other : {true, false}) {
    World world(tensor::Codec::kInt8);
    RecordedStep step = World::step(0);
    if (other) step.rounds[0].part_weights = {5, 1};
    world.train(step);
    ends.push_back(world.arithmetic[0]->parameters());
  }
  BOOST_TEST((ends[0] != ends[1]));
}

// What the simulator compares at the end of a run.
BOOST_AUTO_TEST_CASE(a_peer_that_did_otherwise_than_it_told_is_found) {
  Swarm swarm;
  swarm.num_stages = kStages;
  swarm.averager_options.codec = tensor::Codec::kInt8;
  swarm.averager_options.chunk_elements = 12;
  swarm.limits.rounding_bits = 1;
  swarm.training.batch = kBatch;
  swarm.training.microbatch = kMicrobatch;
  World world(tensor::Codec::kInt8);
  ReplayCheck check(swarm);
  launch::AuditReport audit;
  for (uint64_t step = 0; step < 2; ++step) {
    audit.recorded[step] = World::step(step, /*gave_back=*/step > 0);
    world.train(audit.recorded[step]);
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      check.seen(*world.arithmetic[stage], stage);
      audit.checksums[{stage, step + 1}] = world.arithmetic[stage]->state_checksum();
    }
  }
  BOOST_TEST(check.differs(audit) == "");
  BOOST_TEST(check.compared() == 2 * kStages);
  for (auto& member : audit.recorded[1].rounds[1].members) member.gave_back = false;
  BOOST_TEST(check.differs(audit).find("stage 1 step 2: done again") == 0u, check.differs(audit));
}

// After a gradient that the swarm had lost what the replay had made was not what the peers had: all that followed was
// somewhere else, too.
BOOST_AUTO_TEST_CASE(residuals_of_another_state_are_not_gone_on_with) {
  World world(tensor::Codec::kInt8), right(tensor::Codec::kInt8);
  RecordedStep less = World::step(0);
  less.skipped = {3};
  less.samples = kBatch - kMicrobatch;
  for (auto& round : less.rounds) round.members[0].slots = {0};
  world.train(less);
  right.train(World::step(0));
  BOOST_REQUIRE(world.replay->begin(right.replay->states(), {}).ok());
  BOOST_TEST((world.replay->train(World::step(1, true), nullptr).code() == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(residuals_stay_with_what_was_replayed_and_come_from_beside_a_state) {
  World world(tensor::Codec::kInt8), other(tensor::Codec::kInt8);
  world.train(World::step(0));
  const auto states = world.replay->states();
  BOOST_REQUIRE(world.replay->begin(states, {}).ok());  // the same step: nothing is lost
  world.train(World::step(1, true));

  // Another process begins there, and knows what one of them had.
  BOOST_REQUIRE(other.replay->begin(states, {{{0, "a"}, {}}, {{1, "a"}, {}}}).ok());
  const auto unknown = other.replay->train(World::step(1, true), nullptr);
  BOOST_REQUIRE(!unknown.ok());
  BOOST_TEST((unknown.code() == ErrorCode::kNotFound));
  BOOST_TEST(unknown.error().detail.find("from b before is not kept") != std::string::npos,
             unknown.error().detail);
  BOOST_TEST(other.replay->step() == 1u);
  other.train(World::step(1, false));
}

// Older programs told nothing.
BOOST_AUTO_TEST_CASE(what_a_member_did_not_tell_is_guessed_and_said) {
  World world(tensor::Codec::kInt8);
  world.train(World::step(0));
  BOOST_TEST(world.replay->guessed() == "");
  RecordedStep step = World::step(1);
  step.rounds[1].members[0].told = false;
  world.train(step);
  BOOST_TEST(world.replay->guessed() == "a told nothing of step 1, stage 1");
  BOOST_REQUIRE(world.replay->begin(world.replay->states(), {}).ok());
  BOOST_TEST(world.replay->guessed() == "");
}

BOOST_AUTO_TEST_CASE(a_step_of_another_size_is_refused_before_anything_is_read) {
  World world;
  for (const auto& spoil : std::vector<std::function<void(RecordedStep&)>>{
           [](RecordedStep& step) { step.microbatch = 4'000'000'000u; },
           [](RecordedStep& step) { step.slots = 1'000'000; },
           [](RecordedStep& step) { step.first_sample = ~uint64_t{0}; },
           [](RecordedStep& step) { step.samples -= 1; },
           [](RecordedStep& step) {  // the counts fit
             step.skipped = {99};
             step.samples -= kMicrobatch;
             for (auto& round : step.rounds) round.members[0].slots = {0};
           }}) {
    RecordedStep step = World::step(0);
    spoil(step);
    BOOST_TEST((world.replay->train(step, nullptr).code() == ErrorCode::kInvalidArgument));
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_done_again_is_said) {
  World world;
  RecordedStep late = World::step(1);
  late.computed_on = 0;
  BOOST_TEST((world.replay->train(late, nullptr).code() == ErrorCode::kNotFound));
  RecordedStep twice = World::step(0);
  twice.rounds[1].members[0].slots = {0, 2};
  BOOST_TEST((world.replay->train(twice, nullptr).code() == ErrorCode::kInvalidArgument));
  RecordedStep nowhere = World::step(0);
  nowhere.rounds[0].members[1].slots = {2};
  BOOST_TEST((world.replay->train(nowhere, nullptr).code() == ErrorCode::kInvalidArgument));
  RecordedStep beyond = World::step(0);
  beyond.rounds[0].members[1].slots = {2, 9};
  BOOST_TEST((world.replay->train(beyond, nullptr).code() == ErrorCode::kInvalidArgument));
  RecordedStep fewer = World::step(0);
  fewer.rounds.pop_back();
  BOOST_TEST((world.replay->train(fewer, nullptr).code() == ErrorCode::kInvalidArgument));
  world.train(World::step(0));
}

BOOST_AUTO_TEST_SUITE_END()
