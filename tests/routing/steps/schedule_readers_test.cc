/// Members that hold rounds up for longer than they are worth, as the schedules treat them.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "routing/steps/delayed_schedule.h"
#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;

namespace {

/// Peer 2, the second of stage 0, has a tenth of the others' links, and nobody sends it microbatches. A
/// round of stage 0 takes 10 s, one of stage 1 takes 1 s.
template <class Kind>
struct SlowLink : ScheduleWorld<Kind> {
  using Base = ScheduleWorld<Kind>;
  using Base::facts, Base::now, Base::schedule;

  explicit SlowLink(uint64_t steps = 1'000) : Base(options(steps)) {
    for (uint32_t n : {1u, 2u, 3u, 4u}) has_links(n, n == 2 ? 1e6 : 1e7);
  }
  static ScheduleOptions options(uint64_t steps) {
    ScheduleOptions options = Base::standard();
    options.steps = steps;
    options.save.steps = steps;
    return options;
  }
  void has_links(uint32_t n, double rate) {
    facts(n).link = {rate, rate};
    facts(n).average_bytes = 10'000'000;
  }
  /// The rounds that were asked for, as long as they take.
  Orders average(const Orders& filled) {
    auto closes = all_of<orders::CloseStep>(filled);
    std::sort(closes.begin(), closes.end(),
              [this](const auto& a, const auto& b) { return took[a.stage] < took[b.stage]; });
    Orders all;
    const Time began = now;
    for (const auto& close : closes) {
      now = began + took[close.stage];
      for (const auto& member : close.members) Base::append(all, Base::closed(close, member.peer));
    }
    return all;
  }
  /// A step that takes 5 s and its rounds; the orders of its commit.
  Orders step() {
    now += filling;
    const Orders averaged = average(Base::carry_all());
    Base::commit_all(averaged);
    return averaged;
  }
  /// Until peer 2 reads.
  void retire() {
    Base::open(0);
    for (int i = 1; i < Readers::kPatience; ++i)
      BOOST_TEST(noted<facts::BecameReader>(step()).empty());
    const Orders last = step();
    const auto found = noted<facts::BecameReader>(last);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST((found[0].peer == peer(2)));
    BOOST_TEST(found[0].costs_s == 9, boost::test_tools::tolerance(0.01));
    BOOST_TEST(found[0].samples == 0);
    const auto told = all_of<orders::AskToRegister>(last);
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST((told[0].peer == peer(2)));
    BOOST_TEST(!facts(2).serving);
  }
  Verdict registers(uint32_t n) {
    Orders out;
    return schedule.admit(peer(n), out, now);
  }
  size_t members_of_next_round() {
    now += filling;
    const Orders filled = Base::carry_all();
    size_t members = 0;
    for (const auto& close : all_of<orders::CloseStep>(filled))
      if (close.stage == Stage(0)) members = close.members.size();
    Base::commit_all(average(filled));
    return members;
  }
  /// In so many steps.
  size_t readers_in(int steps) {
    size_t found = 0;
    for (int i = 0; i < steps; ++i) found += noted<facts::BecameReader>(step()).size();
    return found;
  }

  Time filling = std::chrono::seconds(5);
  std::map<Stage, Time> took{{Stage(0), std::chrono::seconds(10)},
                             {Stage(1), std::chrono::seconds(1)}};
};

using World = SlowLink<SyncSchedule>;

}  // namespace

BOOST_AUTO_TEST_SUITE(ScheduleReaders)

BOOST_FIXTURE_TEST_CASE(its_last_commit_reaches_it_and_then_it_is_no_member, World) {
  retire();
  BOOST_TEST(facts(2).step == Step(3));
  BOOST_TEST(facts(2).set_aside);
  BOOST_TEST(members_of_next_round() == 1u);
}

BOOST_FIXTURE_TEST_CASE(it_is_told_to_fetch_the_means_that_come, World) {
  retire();
  const Verdict at_the_step = registers(2);
  BOOST_TEST((at_the_step.kind == Verdict::Kind::kFetch));
  BOOST_TEST(at_the_step.step == Step(4));  // nobody has it yet
  BOOST_TEST(at_the_step.sources == std::vector<PeerId>{peer(1)});
  members_of_next_round();
  const Verdict behind = registers(2);
  BOOST_TEST((behind.kind == Verdict::Kind::kFetch));
  BOOST_TEST(behind.step == Step(4));
  BOOST_TEST(!facts(2).serving);
}

BOOST_FIXTURE_TEST_CASE(it_is_asked_again_and_may_come_back, World) {
  retire();
  facts(2).link = {1e7, 1e7};
  registers(2);
  members_of_next_round();
  facts(2).step = facts(2).open_step = schedule.frame().open.step;
  facts(2).checksum = facts(1).checksum;
  BOOST_TEST((registers(2).kind == Verdict::Kind::kFetch));  // it brought nothing before
  for (int i = 0; i < 10 * Readers::kAskAgain && schedule.frame().readers.reads(peer(2)); ++i)
    members_of_next_round();
  facts(2).step = facts(2).open_step = schedule.frame().open.step;
  facts(2).checksum = facts(1).checksum;
  BOOST_TEST((registers(2).kind == Verdict::Kind::kServe));
  BOOST_TEST(!facts(2).set_aside);
  for (int i = 0; i < 10; ++i) BOOST_TEST(members_of_next_round() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_stage_that_loses_the_others_gathers_and_the_reader_serves, World) {
  retire();
  BOOST_TEST(all_of<orders::Gather>(lose(1)).size() == 1u);
  schedule.close();
  facts(2).serving = true;
  open(3, 2);
  BOOST_TEST(facts(2).serving);
  BOOST_TEST(!schedule.frame().readers.reads(peer(2)));
}

BOOST_FIXTURE_TEST_CASE(the_last_one_that_can_be_reached_stays, World) {
  open(0);
  for (int i = 1; i < Readers::kPatience; ++i) step();
  now += filling;
  const Orders averaged = average(carry_all());
  BOOST_TEST(noted<facts::BecameReader>(averaged).size() == 1u);
  // The same, but nobody can reach peer 1.
  World other;
  other.open(0);
  for (int i = 1; i < Readers::kPatience; ++i) other.step();
  other.now += other.filling;
  const Orders filled = other.carry_all();
  other.facts(1).reachable = false;
  BOOST_TEST(noted<facts::BecameReader>(other.average(filled)).empty());
}

BOOST_FIXTURE_TEST_CASE(another_coordinator_decides_anew, World) {
  retire();
  World successor;
  successor.all_at(3);
  successor.open(3, 2);
  BOOST_TEST(successor.facts(2).serving);
  BOOST_TEST(!successor.schedule.frame().readers.reads(peer(2)));
  BOOST_TEST(successor.readers_in(Readers::kPatience - 1) == 0u);
  BOOST_TEST(successor.readers_in(1) == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_same_coordinator_remembers_after_a_gathering, World) {
  retire();
  schedule.close();
  facts(2).serving = true;
  open(3, 2);
  BOOST_TEST(facts(2).serving);
  BOOST_TEST(readers_in(1) == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_reader_that_lost_its_link_for_a_while_reads_on, World) {
  retire();
  lose(2);
  for (int i = 0; i < 3; ++i) BOOST_TEST(members_of_next_round() == 1u);
  const uint64_t at = schedule.frame().open.step.value();
  add(2, at).serving = false;
  facts(2).checksum = facts(1).checksum;
  BOOST_TEST((registers(2).kind == Verdict::Kind::kFetch));  // knows no links yet
  has_links(2, 1e6);
  BOOST_TEST((registers(2).kind == Verdict::Kind::kFetch));
  BOOST_TEST(members_of_next_round() == 1u);
}

BOOST_AUTO_TEST_CASE(after_the_last_step_nobody_becomes_one) {
  World world(Readers::kPatience);
  world.open(0);
  BOOST_TEST(world.readers_in(Readers::kPatience) == 0u);
  BOOST_TEST(world.schedule.frame().open.step == Step(Readers::kPatience));
  BOOST_TEST(world.facts(2).serving);
}

BOOST_FIXTURE_TEST_CASE(who_tells_of_a_great_vector_makes_nobody_a_reader, World) {
  for (uint32_t n : {1u, 2u, 3u, 4u}) facts(n).average_bytes = 10'000;
  facts(1).average_bytes = ~uint64_t{0};
  open(0);
  BOOST_TEST(readers_in(20) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_round_as_long_as_another_stages_makes_nobody_a_reader, World) {
  for (uint32_t n : {3u, 4u}) facts(n).average_bytes = 100'000'000;
  took[Stage(1)] = std::chrono::seconds(10);
  open(0);
  BOOST_TEST(readers_in(20) == 0u);
}

using Delayed = SlowLink<DelayedSchedule>;

BOOST_FIXTURE_TEST_CASE(with_delayed_updates_the_pipeline_runs_dry_for_it, Delayed) {
  facts(1).average_bytes = facts(2).average_bytes = 100'000'000;  // 100 s: not hidden
  took[Stage(0)] = std::chrono::seconds(95);
  open(0);
  bool dry = false, reads = false;
  Orders under_way;
  for (int i = 0; i < 20 && !reads; ++i) {
    now += filling;
    Orders next = carry_all();  // while the rounds of the step before go on
    const Orders averaged = average(under_way);
    commit_all(averaged);
    append(next, averaged);
    BOOST_TEST(all_of<orders::Gather>(next).empty());
    for (const auto& close : all_of<orders::CloseStep>(next)) dry |= !close.go_on;
    reads = !noted<facts::BecameReader>(next).empty();
    under_way = next;
  }
  BOOST_TEST(dry);
  BOOST_TEST(reads);
}

// Somebody waits to come in, so no round runs during a step: that is no reason to part with anybody.
BOOST_FIXTURE_TEST_CASE(steps_that_run_dry_for_a_while_do_not_make_a_round_count_in_full, Delayed) {
  add(5).serving = false;
  filling = std::chrono::seconds(15);
  open(0);
  for (int i = 0; i < 20; ++i) {
    now += filling;
    const Orders filled = carry_all();
    const auto closes = all_of<orders::CloseStep>(filled);
    BOOST_REQUIRE(!closes.empty());
    for (const auto& close : closes) BOOST_TEST(!close.go_on);
    const Orders averaged = average(filled);
    BOOST_TEST(noted<facts::BecameReader>(averaged).empty());
    commit_all(averaged);
  }
}

BOOST_AUTO_TEST_SUITE_END()
