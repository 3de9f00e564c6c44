#include "actors/stage/sum_entry.h"

#include <boost/test/unit_test.hpp>

#include "apps/sim/arithmetic_stage.h"

using namespace swarm;
using actors::LocalUpdater;
using actors::LocalUpdates;
using actors::SumEntry;
using actors::SumWatch;

namespace {

/// A stage whose gradient of a sample is 5 at the first parameter.
struct Entering {
  sim::ArithmeticStage stage{0};
  std::shared_ptr<SumWatch> watch = std::make_shared<SumWatch>(true);
  std::shared_ptr<LocalUpdater> updater = std::make_shared<LocalUpdater>(3);
  bool changed = false;  ///< The last one found the sum so.
  Entering() { stage.initialize(); }

  LocalUpdates enter(const std::shared_ptr<LocalUpdater>& with, bool adds = true) {
    SumEntry entry(adds, 1, Step(0), watch, with);
    const bool begins = entry.begin(stage);
    changed = entry.sum_changed();
    tensor::StageInput input;
    input.samples = input.sequence = 1;
    const int32_t tokens[] = {5, 6};
    input.tokens = Buffer::from_string({reinterpret_cast<const char*>(tokens), sizeof tokens});
    const std::vector<float> rows{0};
    input.activations = sim::encode(rows, input);
    const MicrobatchKey key{Step(0), Slot(slot_++), Attempt()};
    BOOST_REQUIRE(stage.forward_backward(key, input, begins, false).ok());
    return entry.added(stage, 1, stage.updates());
  }
  LocalUpdates enter() { return enter(updater); }
  void flip() { stage.memory().flip_bit(tensor::StatePart::kGradientSum); }
  float sum() const {
    float value = 0;
    std::memcpy(&value, stage.gradient_sum().data(), sizeof value);
    return value;
  }

 private:
  uint32_t slot_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(SumEntries)

BOOST_FIXTURE_TEST_CASE(the_sum_of_a_step_that_has_changed_takes_nothing_in, Entering) {
  enter(nullptr);
  flip();
  enter(nullptr);
  BOOST_TEST(changed);
  BOOST_TEST(sum() == 5.0f);  // for its owner to drop
}

BOOST_FIXTURE_TEST_CASE(that_of_local_updates_begins_anew_and_says_what_is_lost, Entering) {
  enter();
  BOOST_TEST(enter().dropped == 0u);
  flip();
  const auto lost = enter();
  BOOST_TEST(!changed);
  BOOST_TEST(lost.dropped == 2u);
  BOOST_TEST(lost.staleness.empty());
  BOOST_TEST(sum() == 5.0f);
  BOOST_TEST(enter().dropped == 0u);  // told once
  BOOST_TEST(enter().staleness.size() == 3u);
  BOOST_TEST(stage.parameters()[0] == -5.0f);
}

BOOST_FIXTURE_TEST_CASE(after_an_update_the_sum_is_another_one, Entering) {
  for (int update = 0; update < 2; ++update)
    for (int i = 0; i < 3; ++i) BOOST_TEST(enter().dropped == 0u);
  BOOST_TEST(stage.parameters()[0] == -10.0f);
}

BOOST_FIXTURE_TEST_CASE(what_was_dropped_is_told_by_who_updates_with_the_rest, Entering) {
  enter();
  updater->drop(stage);
  const auto rest = updater->rest(stage, Step(0));
  BOOST_TEST(rest.dropped == 1u);
  BOOST_TEST(rest.staleness.empty());
  BOOST_TEST(stage.updates() == 0u);
}

BOOST_FIXTURE_TEST_CASE(who_adds_nothing_looks_at_nothing, Entering) {
  enter();
  flip();
  BOOST_TEST(enter(updater, /*adds=*/false).dropped == 0u);
  BOOST_TEST(enter().dropped == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
