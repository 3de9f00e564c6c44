#include "routing/state/learn_plan.h"

#include <boost/test/unit_test.hpp>
#include <deque>
#include <functional>

#include "routing/state/recent_means.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;
using What = LearnAnswer::What;

namespace {

constexpr uint64_t kElements = 12'000;
constexpr uint64_t kStateBytes = 12 * kElements;

LearnOptions options(double state_bytes_per_s = 0) {
  LearnOptions options;
  options.elements = kElements;
  options.range_elements = 100;
  options.bytes_per_element = 12;
  options.reads_in_flight = 2;
  options.state_bytes_per_s = state_bytes_per_s;
  return options;
}

PeerId donor(uint8_t n) { return {testing::node(n), "state.0"}; }

Time seconds(double s) {
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(s));
}

/// Donors that make an update every `step_s`, and one link of `rate` bytes/s from them to a learner.
struct World {
  LearnPlan plan;
  double rate, step_s;
  double now_s = 0.37;  // some time in a step
  std::vector<PeerId> sources{donor(1), donor(2)};
  struct Flight {
    LearnRead read;
    double there_s;
    LearnAnswer answer;
  };
  std::deque<Flight> flights{};
  double link_free_s = 0;
  uint64_t state_bytes = 0, mean_bytes = 0, states_again = 0;
  std::function<void()> each{};

  World(double the_rate, double the_step_s, double cap = 0)
      : plan(options(cap)), rate(the_rate), step_s(the_step_s) {
    now_s *= step_s;
    plan.set_sources(sources, at());
  }
  Step at() const { return Step(100 + static_cast<uint64_t>(now_s / step_s)); }
  static StateLabel label(Step step) { return {step, step.value() * 7}; }

  /// As actors/state/range_upload.cc answers.
  LearnAnswer answer(const LearnRead& read) const {
    const StateLabel newest = label(at());
    if (!read.label) return {What::kState, newest, newest};
    if (read.label->step >= newest.step) return {What::kNothing, {}, newest};
    if (newest.step.value() - read.label->step.value() <= RecentMeans::kKept)
      return {What::kMean, label(read.label->step + 1), newest};
    return {What::kState, newest, newest};
  }
  void send(const LearnRead& read) {
    const LearnAnswer reply = answer(read);
    uint64_t bytes = 0;
    if (reply.what == What::kState) bytes = read.count * 12;
    if (reply.what == What::kMean) bytes = read.count * 4;
    (reply.what == What::kState ? state_bytes : mean_bytes) += bytes;
    if (reply.what == What::kState && read.label) ++states_again;
    link_free_s = std::max(link_free_s, now_s) + static_cast<double>(bytes) / rate;
    flights.push_back({read, link_free_s, reply});
  }
  /// Until all is there and of the donors' step, at most `limit_s`: whether it is.
  bool run(double limit_s) {
    const double end_s = now_s + limit_s;
    while (now_s < end_s) {
      const auto whole = plan.whole();
      if (whole && whole->step == at()) return true;
      for (const LearnRead& read : plan.reads(seconds(now_s))) send(read);
      double next_s = std::max(
          now_s + 1e-4, std::chrono::duration<double>(plan.look_again(seconds(now_s))).count());
      if (!flights.empty()) next_s = std::min(next_s, flights.front().there_s);
      now_s = std::max(now_s, next_s);
      if (!flights.empty() && flights.front().there_s <= now_s) {
        const Flight flight = flights.front();
        flights.pop_front();
        plan.answered(flight.read, flight.answer, seconds(now_s));
      }
      if (each) each();
    }
    return false;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(LearnPlanSuite)

BOOST_AUTO_TEST_CASE(
    a_state_that_takes_one_and_two_steps_is_there_within_1_3_and_1_8_times_its_bytes) {
  for (const auto& [steps, factor] : {std::pair{1.0, 1.35}, std::pair{2.0, 1.8}}) {
    double sum = 0;
    for (int phase = 0; phase < 10; ++phase) {
      World world(kStateBytes / steps, /*step_s=*/1.0);
      world.now_s = 0.1 * phase + 0.001;
      const double began_s = world.now_s;
      BOOST_REQUIRE(world.run(20));
      sum += (world.now_s - began_s) / steps;
      BOOST_TEST(world.states_again == 0u);
    }
    BOOST_TEST(sum / 10 < factor);
  }
}

BOOST_AUTO_TEST_CASE(missing_ranges_keep_to_their_rate_and_means_do_not_count) {
  // The link carries the means twice over, the state takes 50 steps.
  World world(/*rate=*/8.0 * kElements, /*step_s=*/1.0, /*cap=*/kStateBytes / 50.0);
  const double began_s = world.now_s;
  BOOST_REQUIRE(world.run(100));
  BOOST_TEST(world.now_s - began_s < 1.2 * 50);
  BOOST_TEST(world.now_s - began_s > 48);
  BOOST_TEST(world.states_again == 0u);
  BOOST_TEST(world.state_bytes == kStateBytes);
  BOOST_TEST(!world.plan.pace().too_slow().has_value());
}

BOOST_AUTO_TEST_CASE(a_link_that_cannot_carry_the_means_is_told_with_needs_and_has) {
  World world(/*rate=*/2.5 * kElements, /*step_s=*/1.0);
  std::optional<LearnPace::TooSlow> told;
  world.each = [&] {
    if (!told) told = world.plan.pace().too_slow();
  };
  BOOST_TEST(!world.run(120));
  BOOST_REQUIRE(told.has_value());
  BOOST_TEST(told->needs == 4.0 * kElements, boost::test_tools::tolerance(0.1));
  BOOST_TEST(told->has == 2.5 * kElements, boost::test_tools::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(a_resting_learner_reads_nothing_and_then_measures_anew) {
  World world(1e6, 1.0);
  world.plan.rest(seconds(world.now_s + 30));
  BOOST_TEST(world.plan.reads(seconds(world.now_s)).empty());
  BOOST_TEST((world.plan.look_again(seconds(world.now_s)) == seconds(world.now_s + 30)));
  world.now_s += 30.001;
  BOOST_TEST(!world.plan.reads(seconds(world.now_s)).empty());
}

BOOST_AUTO_TEST_CASE(a_state_a_few_steps_behind_needs_means_only_and_an_older_one_is_read_anew) {
  for (const auto& [behind, anew] :
       {std::pair{1u, false}, std::pair{3u, false}, std::pair{4u, true}}) {
    World world(kStateBytes * 10.0, 1.0);
    for (size_t i = 0; i < world.plan.ranges(); ++i)
      world.plan.hold(i, World::label(Step(world.at().value() - behind)));
    BOOST_TEST(world.plan.complete());
    BOOST_REQUIRE(world.run(20));
    BOOST_TEST((world.state_bytes > 0) == anew);
    if (!anew) BOOST_TEST(world.mean_bytes == behind * 4 * kElements);
  }
}

BOOST_AUTO_TEST_CASE(ranges_of_the_oldest_step_are_brought_on_first) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  plan.hold(7, {Step(4), 1});
  plan.hold(3, {Step(5), 2});
  auto first = plan.reads(0ns);
  BOOST_REQUIRE(first.size() == 2u);  // the source has said nothing yet
  BOOST_TEST(!first[0].label.has_value());
  plan.answered(first[0], {What::kState, {Step(6), 3}, {Step(6), 3}}, 1ms);
  auto next = plan.reads(1ms);
  BOOST_REQUIRE(next.size() == 1u);
  BOOST_TEST(next[0].range == 7u);
  BOOST_TEST((next[0].label == StateLabel{Step(4), 1}));
}

BOOST_AUTO_TEST_CASE(a_source_that_fails_is_left_alone_for_longer_each_time) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  Time now = 1s, pause{};
  auto reads = plan.reads(now);
  BOOST_TEST(reads.size() == 2u);
  for (int i = 0; i < 3; ++i) {
    for (const LearnRead& read : reads) plan.failed(read, now);
    BOOST_TEST(plan.reads(now).empty());
    Time next = now;
    do {
      next += 50ms;
      reads = plan.reads(next);
    } while (reads.empty());
    BOOST_TEST((next - now > pause));
    BOOST_TEST((plan.look_again(now) <= next));
    pause = next - now;
    now = next;
  }
}

BOOST_AUTO_TEST_CASE(what_the_swarm_gave_up_is_dropped_when_it_goes_back) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(20));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(i % 2 == 0 ? 20u : 11u), 1});
  plan.set_sources({donor(1)}, Step(20));
  BOOST_TEST(plan.complete());
  plan.set_sources({donor(1)}, Step(12));
  BOOST_TEST(plan.elements_held() == kElements / 2);
}

BOOST_AUTO_TEST_CASE(a_step_of_another_history_is_behind_too) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(5), 1});
  const auto poll = plan.reads(0ns);
  BOOST_REQUIRE(poll.size() == 1u);
  plan.answered(poll[0], {What::kState, {Step(5), 2}, {Step(5), 2}}, 1ms);
  BOOST_TEST(!plan.whole().has_value());
  BOOST_TEST(plan.reads(1ms).size() == 2u);
}

BOOST_AUTO_TEST_CASE(after_wrong_bytes_all_is_read_anew_from_one_source_then_from_the_next) {
  World world(1e9, 1000.0);
  BOOST_REQUIRE(world.run(10));
  std::vector<PeerId> asked;
  for (int i = 0; i < 2; ++i) {
    world.plan.start_anew();
    BOOST_TEST(world.plan.elements_held() == 0u);
    auto reads = world.plan.reads(seconds(world.now_s));
    BOOST_REQUIRE(!reads.empty());
    for (auto& read : reads) BOOST_TEST((read.source == reads[0].source));
    asked.push_back(reads[0].source);
  }
  BOOST_TEST((asked[0] != asked[1]));
}

BOOST_AUTO_TEST_CASE(answers_of_before_a_new_beginning_change_nothing) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  const auto reads = plan.reads(0ns);
  plan.start_anew();
  BOOST_TEST(!plan.awaits(reads[0]));
  plan.answered(reads[0], {What::kState, {Step(6), 3}, {Step(6), 3}}, 1ms);
  BOOST_TEST(plan.elements_held() == 0u);
}

BOOST_AUTO_TEST_CASE(it_is_not_whole_while_a_source_is_further) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(5), 1});
  BOOST_TEST((plan.whole() == StateLabel{Step(5), 1}));
  const auto poll = plan.reads(0ns);
  BOOST_TEST(plan.whole().has_value());  // far away, a question is under way nearly always
  plan.answered(poll[0], {What::kMean, {Step(6), 2}, {Step(6), 2}}, 1ms);
  BOOST_TEST(!plan.whole().has_value());
}

BOOST_AUTO_TEST_CASE(what_is_whole_is_asked_for_no_more) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(5), 1});
  const auto poll = plan.reads(0ns);
  plan.end_reads();
  BOOST_TEST(!plan.awaits(poll[0]));
  plan.answered(poll[0], {What::kMean, {Step(6), 2}, {Step(6), 2}}, 1ms);
  BOOST_TEST((plan.whole() == StateLabel{Step(5), 1}));
}

BOOST_AUTO_TEST_CASE(it_is_not_whole_while_a_source_has_another_history_of_its_step) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(5), 1});
  const auto poll = plan.reads(0ns);
  plan.answered(poll[0], {What::kNothing, {}, {Step(5), 7}}, 1ms);
  BOOST_TEST(!plan.whole().has_value());
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_the_means_of_a_source_that_cannot_be_reached) {
  LearnPlan plan(options());
  plan.set_sources({donor(1), donor(2)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(4), 1});
  const LearnAnswer state{What::kState, {Step(5), 2}, {Step(5), 2}};
  for (Time now = 0ns; now < 200s && plan.uniform() != state.newest; now += 1s)
    for (const LearnRead& read : plan.reads(now))
      read.source == donor(1) ? plan.answered(read, state, now) : plan.failed(read, now);
  BOOST_TEST((plan.uniform() == StateLabel{Step(5), 2}));
}

// What the answer brings is on its way into the state: a checksum of the whole would be of neither.
BOOST_AUTO_TEST_CASE(it_is_not_whole_while_an_answer_is_being_taken) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(5), 1});
  const auto poll = plan.reads(0ns);
  BOOST_REQUIRE(poll.size() == 1u);
  const LearnAnswer mean{What::kMean, {Step(6), 2}, {Step(6), 2}};
  plan.set_sources({donor(2)}, Step(5));  // who said that there is more is no source any more
  BOOST_TEST(plan.whole().has_value());
  plan.arrived(poll[0], mean, 1ms);
  BOOST_TEST(!plan.whole().has_value());
  BOOST_TEST(!plan.uniform().has_value());
  plan.end_reads();
  BOOST_TEST(plan.awaits(poll[0]));
  plan.answered(poll[0], mean, 1ms);
  BOOST_TEST(!plan.whole().has_value());
}

BOOST_AUTO_TEST_CASE(a_source_is_asked_for_more_while_what_it_sent_is_being_taken) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  auto reads = plan.reads(0ns);
  BOOST_REQUIRE(reads.size() == 2u);
  BOOST_TEST(plan.reads(0ns).empty());
  const LearnAnswer state{What::kState, {Step(5), 1}, {Step(5), 1}};
  size_t taken_late = 0;
  for (; !reads.empty() && taken_late < 100; ++taken_late) {
    plan.arrived(reads.front(), state, 1ms);
    reads.erase(reads.begin());
    for (const LearnRead& read : plan.reads(1ms)) reads.push_back(read);
  }
  BOOST_TEST(taken_late > 2u);
  BOOST_TEST(taken_late < 10u);  // what nobody takes does not fill the memory
}

BOOST_AUTO_TEST_CASE(ranges_behind_keep_to_the_rate_at_a_source_that_has_no_means) {
  LearnPlan plan(options(/*state_bytes_per_s=*/1'200));  // a range a second
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(4), 1});
  const auto poll = plan.reads(0ns);
  BOOST_REQUIRE(poll.size() == 1u);
  const LearnAnswer state{What::kState, {Step(5), 2}, {Step(5), 2}};
  plan.answered(poll[0], state, 1ms);
  BOOST_TEST(plan.reads(1ms).empty());
  BOOST_TEST((plan.look_again(1ms) <= 1'001ms));
  BOOST_TEST(plan.reads(1'001ms).size() == 1u);
}

// They would stand before all others, and those would become too old in their turn.
BOOST_AUTO_TEST_CASE(ranges_that_no_mean_leads_on_from_do_not_hold_up_others) {
  LearnPlan plan(options(/*state_bytes_per_s=*/1'200));
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(i % 2 == 0 ? 3u : 4u), 1});
  const auto poll = plan.reads(0ns);
  plan.answered(poll[0], {What::kState, {Step(5), 2}, {Step(5), 2}}, 1ms);
  const auto reads = plan.reads(1ms);
  BOOST_REQUIRE(reads.size() == 2u);
  for (const LearnRead& read : reads) BOOST_TEST((read.label == StateLabel{Step(4), 1}));
}

BOOST_AUTO_TEST_CASE(what_one_source_has_lost_another_may_bring_on) {
  LearnPlan plan(options());
  plan.set_sources({donor(1), donor(2)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(4), 1});
  const auto polls = plan.reads(0ns);
  BOOST_REQUIRE(polls.size() == 2u);
  plan.answered(polls[0], {What::kState, {Step(5), 2}, {Step(5), 2}}, 1ms);
  plan.answered(polls[1], {What::kMean, {Step(5), 2}, {Step(5), 2}}, 1ms);
  BOOST_TEST(plan.complete());
  for (const LearnRead& read : plan.reads(1ms)) BOOST_TEST((read.source == polls[1].source));
}

BOOST_AUTO_TEST_CASE(ranges_too_old_for_means_keep_to_the_rate) {
  LearnPlan plan(options(/*state_bytes_per_s=*/1'200));
  plan.set_sources({donor(1)}, Step(9));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(4), 1});
  const auto poll = plan.reads(0ns);
  plan.answered(poll[0], {What::kState, {Step(9), 2}, {Step(9), 2}}, 1ms);
  BOOST_TEST(plan.reads(1ms).empty());
  BOOST_TEST(plan.reads(2s).size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_donor_needed_to_answer_is_not_the_links) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  Time now = 0s;
  for (int i = 0; i < 10; ++i) {
    const auto reads = plan.reads(now);
    BOOST_REQUIRE(!reads.empty());
    now += 10s;  // 9 of which it waited for the donor's device
    LearnAnswer state{What::kState, {Step(5), 1}, {Step(5), 1}};
    state.waited = 9s;
    for (const LearnRead& read : reads) plan.answered(read, state, now);
  }
  // Two ranges of 1,200 bytes in each second on the way.
  BOOST_TEST(plan.pace().rate() == 2'400.0, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(what_is_of_one_step_can_be_taken_as_it_is_though_the_sources_are_further) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(5));
  for (size_t i = 0; i < plan.ranges(); ++i) plan.hold(i, {Step(5), 1});
  const auto poll = plan.reads(0ns);
  plan.answered(poll[0], {What::kNothing, {}, {Step(6), 2}}, 1ms);
  const auto reads = plan.reads(1ms);
  BOOST_TEST(!reads.empty());
  BOOST_TEST(!plan.whole().has_value());
  BOOST_TEST((plan.uniform() == StateLabel{Step(5), 1}));
  plan.end_reads();
  for (const LearnRead& read : reads) BOOST_TEST(!plan.awaits(read));
  plan.hold(3, {Step(6), 2});
  BOOST_TEST(!plan.uniform().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(RecentMeansSuite)

AppliedMean mean(uint64_t step) {
  return {{Step(step), step * 7}, {Step(step + 1), step * 7 + 7}, Round(step), 0, 1, {}, {}};
}

BOOST_AUTO_TEST_CASE(without_a_learner_nothing_is_kept) {
  RecentMeans means;
  means.applied(mean(1), 1s);
  BOOST_TEST(means.kept() == 0u);
  means.asked(2s);
  for (uint64_t step = 2; step < 10; ++step) means.applied(mean(step), Time(1s * step));
  BOOST_TEST(means.kept() == RecentMeans::kKept);
  BOOST_TEST((means.from({Step(6), 42}) == nullptr));
  BOOST_REQUIRE((means.from({Step(7), 49}) != nullptr));
  BOOST_TEST(means.from({Step(7), 49})->after.step == Step(8));
  BOOST_TEST((means.from({Step(7), 50}) == nullptr));  // of another history
}

BOOST_AUTO_TEST_CASE(they_are_dropped_when_the_learner_has_long_been_silent) {
  RecentMeans means;
  means.asked(0s);
  for (uint64_t step = 0; step < 4; ++step) means.applied(mean(step), Time(10s * step));
  BOOST_TEST(means.kept() == 3u);  // 30 s are not over
  means.applied(mean(4), 40s);
  BOOST_TEST(means.kept() == 0u);
  BOOST_TEST(!means.wanted());
  RecentMeans slow;  // few steps: however long they take
  slow.asked(0s);
  for (uint64_t step = 0; step < 3; ++step) slow.applied(mean(step), Time(100s * step));
  BOOST_TEST(slow.kept() == 3u);
}

// A disk may take long, and what it has may be too old.
BOOST_AUTO_TEST_CASE(what_the_disk_may_have_is_asked_for_last_and_from_the_end) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(7));
  for (size_t range = 0; range < 100; ++range) plan.expect(range);
  std::vector<size_t> asked;
  for (int i = 0; i < 25; ++i)
    for (const LearnRead& read : plan.reads(Time(1s))) {
      asked.push_back(read.range);
      plan.answered(read, {What::kState, World::label(Step(7)), World::label(Step(7))}, 1s);
    }
  BOOST_REQUIRE(asked.size() > 22u);
  for (size_t i = 0; i < 20; ++i) BOOST_TEST(asked[i] == 100 + i);  // there are 120
  BOOST_TEST(asked[20] == 99u);
  BOOST_TEST(asked[21] == 98u);
}

BOOST_AUTO_TEST_CASE(
    what_the_disk_brings_is_asked_of_nobody_and_what_has_come_is_not_taken_from_it) {
  LearnPlan plan(options());
  plan.set_sources({donor(1)}, Step(7));
  plan.expect(0);
  BOOST_TEST(plan.claim(0));
  BOOST_TEST(!plan.claim(0));
  const auto reads = plan.reads(Time(1s));
  BOOST_REQUIRE(!reads.empty());
  BOOST_TEST(reads.front().range == 1u);
  BOOST_TEST(!plan.claim(1));  // on its way
  plan.answered(reads.front(), {What::kState, World::label(Step(7)), World::label(Step(7))}, 1s);
  BOOST_TEST(!plan.claim(1));  // here
  plan.hold(0, World::label(Step(6)));
  BOOST_TEST(plan.elements_held() == 200u);
  // It is behind: the first thing to be brought on.
  BOOST_TEST(plan.reads(Time(1s)).front().range == 0u);
  BOOST_TEST(plan.claim(2) == false);  // the second that was asked for
  BOOST_TEST(plan.claim(50));
  plan.drop(50);
  BOOST_TEST(plan.claim(50));
}

BOOST_AUTO_TEST_SUITE_END()
