#include "apps/audit/recorded_steps.h"

#include <boost/test/unit_test.hpp>

#include "tests/apps/audit/story.h"

using namespace swarm;
using namespace swarm::launch;

namespace {

/// The peer tells how its numbers went into the round of that step.
void tell(Story& story, uint64_t step, uint32_t stage, size_t replica, records::BroughtIn brought) {
  for (auto& closed : story.log.closed)
    if (closed.record.step == step)
      closed.record.stages[stage].members[replica].brought = std::move(brought);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RecordedStepsTest)

BOOST_AUTO_TEST_CASE(steps_have_their_holders_whoever_told_of_them) {
  Story story;
  story.tell();
  const auto steps = story.report().recorded;
  BOOST_REQUIRE(steps.size() == 2u);
  const RecordedStep& step = steps.at(1);
  BOOST_TEST(step.step == 1u);
  BOOST_TEST(step.computed_on == 1u);
  BOOST_TEST(step.first_sample == kBatch);
  BOOST_TEST(step.slots == kSlots);
  BOOST_TEST(step.samples == kBatch);
  BOOST_REQUIRE(step.rounds.size() == kStages);
  const RecordedRound& round = step.rounds[1];
  BOOST_TEST(round.part_weights.empty());
  BOOST_REQUIRE(round.members.size() == 2u);
  BOOST_TEST(round.members[0].node == name_of(1, 0));
  BOOST_TEST(round.members[1].node == name_of(1, 1));
  BOOST_TEST((round.members[1].slots == std::vector<uint32_t>{2, 3}));
  BOOST_TEST(!round.members[1].told);
}

BOOST_AUTO_TEST_CASE(who_tells_has_its_order_and_says_what_was_given_back) {
  Story story;
  story.tell();
  tell(story, 1, 0, 1, {{3, 2}, true});
  story.log.closed[1].record.stages[0].part_weights = {512, 512};
  const auto steps = story.report().recorded;
  const RecordedRound& round = steps.at(1).rounds[0];
  BOOST_TEST((round.part_weights == std::vector<uint32_t>{512, 512}));
  BOOST_TEST(!round.members[0].told);
  BOOST_TEST(round.members[1].told);
  BOOST_TEST(round.members[1].gave_back);
  BOOST_TEST((round.members[1].slots == std::vector<uint32_t>{3, 2}));
  BOOST_TEST(!steps.at(1).rounds[1].members[1].told);
  BOOST_TEST(!steps.at(0).rounds[0].members[1].told);
}

BOOST_AUTO_TEST_CASE(an_order_of_other_slots_than_were_counted_says_nothing) {
  Story story;
  story.tell();
  tell(story, 1, 0, 1, {{3, 1}, true});
  BOOST_TEST(
      (story.report().recorded.at(1).rounds[0].members[1].slots == std::vector<uint32_t>{2, 3}));
}

BOOST_AUTO_TEST_CASE(steps_that_were_given_up_are_none) {
  Story story;
  const ClosedStep lost = story.close(0, 1);
  for (uint32_t stage = 0; stage < kStages; ++stage) story.commit(lost, stage, 0, 1);
  for (uint32_t stage = 0; stage < kStages; ++stage) story.load(stage, 0, 0, 7 + stage, "seed");
  story.event(records::Recovered{}, 0);
  const ClosedStep again = story.close(0, 5);
  story.commit_all(again);
  story.commit_all(ClosedStep(story.close(1, 6)));
  story.event(records::RunFinished{});
  BOOST_TEST(story.report().recorded.at(0).rounds[0].round == again.stages[0].round);
}

BOOST_AUTO_TEST_SUITE_END()
