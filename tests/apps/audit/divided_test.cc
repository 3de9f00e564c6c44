// The audit of a network that was in two parts.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "apps/audit/audit.h"
#include "tests/apps/audit/story.h"

namespace swarm::launch {
namespace {

/// In each a replica of every stage, and a coordinator.
struct Parts : Story {
  void lead(const std::string& node, uint64_t term) {
    event(records::CoordinatorActive{term});
    context.events.back().node = node;
    time += 6;
  }
  void commit_alone(uint64_t step, uint64_t counter, int replica, uint64_t term,
                    const std::string& node, std::optional<uint64_t> configuration = {}) {
    ClosedStep& closed = close(step, counter);
    closed.term = term;
    closed.configuration = configuration;
    log.closed.back().node = node;
    for (auto& stage : closed.stages) {
      stage.members.erase(stage.members.begin() + (1 - replica));
      stage.members[0].slots = {0, 1, 2, 3};
      stage.members[0].attempts = {1, 2, 3, 4};
    }
    const ClosedStep made = closed;
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      after_alone[{stage, replica}] = checksum_after(made, stage);
      commit(made, stage, 0, checksum_after(made, stage));
    }
  }
  std::map<std::pair<uint32_t, int>, uint64_t> after_alone;
};

/// Replica a goes on alone in term 1, b in term 2; they meet again after `steps_a` and `steps_b`.
struct DividedStory : Parts {
  DividedStory(uint64_t steps_a, uint64_t steps_b, bool said) {
    context.steps = 5;
    lead("ta", 1);
    commit_all(ClosedStep(close(0, 1)));
    for (uint64_t i = 1; i <= std::max(steps_a, steps_b); ++i) {
      if (i <= steps_a) commit_alone(i, 2 * i, 0, 1, "ta");
      if (i == 1) lead("tb", 2);
      if (i == 1 && said) event(records::Recovered{{}, 2, 4, "all met"}, 1);
      if (i <= steps_b) commit_alone(i, 2 * i + (1ull << 31), 1, 2, "tb");
    }
    const bool a_is_longer = steps_a > steps_b;
    const uint64_t step = std::max(steps_a, steps_b) + 1;
    if (a_is_longer && said)
      event(records::Recovered{2, {}, {}, "all met"}, static_cast<int64_t>(step));
    for (uint32_t stage = 0; stage < kStages; ++stage)
      load(stage, a_is_longer ? 1 : 0, step, after_alone.at({stage, a_is_longer ? 0 : 1}),
           "neighbour");
    for (uint64_t i = step; i < 5; ++i) {
      ClosedStep& closed = close(i, 100 + i + (1ull << 31));
      closed.term = 2;
      log.closed.back().node = "tb";
      commit_all(ClosedStep(closed));
    }
    event(records::RunFinished{});
  }
};

/// Number 1 is of both. ta goes on in it, then in number 2, with replica a; replica b is forced to in a number 2 of
/// its own, and comes less far. They meet, and ta's part stays.
struct ForcedStory : Parts {
  /// `forked`: ta's part was forced as well, later.
  explicit ForcedStory(bool said, bool ends = true,
                       const std::optional<std::string>& forked = std::nullopt) {
    context.steps = ends ? 5 : 9;
    lead("ta", 1);
    ClosedStep& first = close(0, 1);
    first.configuration = 1;
    log.closed.back().node = "ta";
    commit_all(ClosedStep(first));
    commit_alone(1, 2, 0, 1, "ta", 1);
    lead("tb", 2);
    commit_alone(1, 2 + kOther, 1, 2, "tb", 2);  // before it says that the configuration holds
    holds("tb", said ? std::optional<std::string>("2 by tb") : std::nullopt);
    commit_alone(2, 4, 0, 1, "ta", 1);
    commit_alone(2, 4 + kOther, 1, 2, "tb", 3);  // in one that it never told
    if (!ends) commit_alone(3, 6 + kOther, 1, 2, "tb", 4);
    holds("ta", forked);
    commit_alone(3, 6, 0, 1, "ta", 2);
    for (uint32_t stage = 0; stage < kStages; ++stage)
      load(stage, 1, 4, after_alone.at({stage, 0}), "neighbour");
    ClosedStep& last = close(4, 8);
    last.configuration = 3;
    log.closed.back().node = "ta";
    commit_all(ClosedStep(last));
    if (ends) event(records::RunFinished{});
  }
  void holds(const std::string& node, const std::optional<std::string>& line) {
    event(records::ConfigurationHolds{2, 2, {}, {}, false, node == "tb", line});
    context.events.back().node = node;
  }
  static constexpr uint64_t kOther = 1ull << 31;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(AuditOfDividedNetworks)

BOOST_AUTO_TEST_CASE(parts_of_a_divided_network_end_in_the_longer_history) {
  const DividedStory newer_wins(1, 3, true), older_wins(3, 1, true);
  BOOST_TEST(newer_wins.violation() == "");
  BOOST_TEST(newer_wins.report().totals.given_up == 1u);
  BOOST_TEST(older_wins.violation() == "");
  BOOST_TEST(older_wins.report().totals.given_up == 1u);
  BOOST_TEST(older_wins.report().totals.steps == 5u);
  // What counts is what the end descends from, not the later round.
  BOOST_TEST(older_wins.report().checksums.at({0, 2}) == 4001u);
  BOOST_TEST(contains(DividedStory(1, 3, false).violation(), "no `recovered` event says so"));
}

BOOST_AUTO_TEST_CASE(a_state_of_the_other_part_is_no_base_to_go_on_from) {
  DividedStory story(3, 1, true);
  story.log.loaded.erase(story.log.loaded.end() - 2);  // b of stage 0 keeps its own step
  BOOST_TEST(contains(story.violation(), "committed while its state was that of step 2"));
}

BOOST_AUTO_TEST_CASE(a_forced_configuration_is_noted_and_those_that_held_are_counted) {
  Story story;
  story.tell();
  story.event(records::Minority{1, 2, 4, {"a", "b"}}, 1);
  story.event(records::ConfigurationHolds{1, 4, {}, {}}, 0);
  story.event(records::ConfigurationHolds{2, 2, {}, {"a", "b"}, false, true}, 1);
  const auto report = story.report();
  BOOST_TEST(report.totals.minorities == 1u);
  BOOST_TEST(report.totals.configurations == 2u);
  BOOST_REQUIRE(report.notes.size() == 1u);
  BOOST_TEST(contains(report.notes[0], "went on without the rest"));
}

BOOST_AUTO_TEST_CASE(a_part_that_was_forced_counts_steps_of_its_own) {
  const ForcedStory story(true);
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(story.report().totals.given_up == 2u);
  BOOST_TEST(story.report().totals.steps == 5u);
  BOOST_TEST(contains(ForcedStory(false).violation(), "no `recovered` event says so"));
}

// The other part's configurations have higher numbers; "exact" was said of what it had trained.
BOOST_AUTO_TEST_CASE(while_it_trains_on_the_line_that_stays_is_the_one_that_is_checked) {
  const ForcedStory story(true, /*ends=*/false);
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(story.report().totals.given_up == 3u);
  BOOST_TEST(story.report().totals.steps == 5u);
  BOOST_TEST(story.report().checksums.at({0, 4}) ==
             ForcedStory(true).report().checksums.at({0, 4}));
}

BOOST_AUTO_TEST_CASE(a_line_with_a_lower_number_is_none_that_the_one_that_stays_forked_off) {
  const ForcedStory story(true, /*ends=*/false, "3 by ta");
  BOOST_TEST(story.violation() == "");
  BOOST_TEST(story.report().totals.given_up == 3u);
  BOOST_TEST(story.report().checksums.at({0, 4}) ==
             ForcedStory(true).report().checksums.at({0, 4}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
