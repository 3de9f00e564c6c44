// The audit of machines whose clocks differ.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

#include "apps/audit/audit.h"
#include "tests/apps/audit/story.h"

namespace swarm::launch {
namespace {

/// Coordinators ta, tb and tc on three machines, each with a clock of its own and a configuration of its
/// own, one after the other. The swarm goes back to step 1 when ta is gone.
struct SkewedStory : Story {
  /// By how much the clock of each is ahead.
  SkewedStory(double a_s, double b_s, double c_s) {
    context.steps = 3;
    ahead_s = {{"ta", a_s}, {"tb", b_s}, {"tc", c_s}};
    lead("ta", 1);
  }
  /// In the moment of `time`, by the clock of `node`.
  template <class T>
  void say(const std::string& node, const T& fields, int64_t step = -1) {
    event(fields, step);
    context.events.back().time_s = time + ahead_s.at(node);
    context.events.back().node = node;
    time += 1;
  }
  void lead(const std::string& node, uint64_t term) { say(node, records::CoordinatorActive{term}); }
  ClosedStep closes(const std::string& node, uint64_t term, uint64_t step, uint64_t counter) {
    ClosedStep& closed = close(step, counter);
    closed.term = closed.configuration.emplace(term);
    log.closed.back().node = node;
    log.closed.back().time_s += ahead_s.at(node);
    const ClosedStep made = closed;
    commit_all(made);
    return made;
  }
  void go_back_to_1(const ClosedStep& first) {
    for (uint32_t stage = 0; stage < kStages; ++stage)
      for (int replica : {0, 1})
        load(stage, replica, 1, checksum_after(first, stage), "own_snapshot");
  }
  /// tb says it and dies, tc goes on.
  void tell_of_three() {
    const ClosedStep first = closes("ta", 1, 0, 1);
    closes("ta", 1, 1, 2);
    lead("tb", 2);
    say("tb", records::Recovered{2, {}, {}, "ta is gone"}, 1);
    go_back_to_1(first);
    lead("tc", 3);
    closes("tc", 3, 1, 3);
    closes("tc", 3, 2, 4);
    say("tc", records::RunFinished{});
  }
  std::map<std::string, double> ahead_s;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(AuditOfSkewedClocks)

BOOST_AUTO_TEST_CASE(who_says_that_the_swarm_went_back_may_have_another_clock) {
  for (const double ahead_s : {0.0, -1000.0, 1000.0}) {
    SkewedStory story(0, ahead_s, 0);
    story.tell_of_three();
    BOOST_TEST(story.violation() == "", "with " << ahead_s << ": " << story.violation());
  }
}

// ta went back before its first step, tb says nothing when it does; its clock is late by as much as that is ago.
BOOST_AUTO_TEST_CASE(what_was_said_before_does_not_count_again_by_a_clock_that_is_late) {
  for (const double ahead_s : {0.0, -21.0, -1000.0}) {
    SkewedStory story(0, ahead_s, 0);
    story.say("ta", records::Recovered{0, {}, {}, "all met"}, 0);
    const ClosedStep first = story.closes("ta", 1, 0, 1);
    story.closes("ta", 1, 1, 2);
    story.lead("tb", 2);
    story.go_back_to_1(first);
    story.closes("tb", 2, 1, 3);
    story.closes("tb", 2, 2, 4);
    story.say("tb", records::RunFinished{});
    BOOST_TEST(contains(story.violation(), "no `recovered` event says so"), "with " << ahead_s);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
