/// Members that hold rounds up for longer than they are worth, as the schedules treat them.
#include <boost/test/unit_test.hpp>

#include "routing/steps/delayed_schedule.h"
#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

using namespace swarm;
using namespace swarm::routing;
using namespace swarm::testing;

namespace {

/// Peer 2, the second of stage 0, has a tenth of the others' links, and nobody sends it microbatches.
template <class Kind>
struct SlowLink : ScheduleWorld<Kind> {
  using Base = ScheduleWorld<Kind>;
  using Base::facts, Base::now, Base::schedule;

  SlowLink() : Base(options()) {
    for (uint32_t n : {1u, 2u, 3u, 4u}) {
      facts(n).link = {1e7, 1e7};
      facts(n).average_bytes = 10'000'000;
    }
    facts(2).link = {1e6, 1e6};
  }
  static ScheduleOptions options() {
    ScheduleOptions options = Base::standard();
    options.steps = 1'000;
    options.save.steps = 1'000;
    return options;
  }
  /// A step that takes 5 s and its rounds; the orders of its commit.
  Orders step() {
    now += std::chrono::seconds(5);
    const Orders averaged = Base::close_all(Base::carry_all());
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
    BOOST_TEST(found[0].costs_s == 10, boost::test_tools::tolerance(0.01));
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
    now += std::chrono::seconds(5);
    const Orders filled = Base::carry_all();
    size_t members = 0;
    for (const auto& close : all_of<orders::CloseStep>(filled))
      if (close.stage == Stage(0)) members = close.members.size();
    Base::commit_all(Base::close_all(filled));
    return members;
  }
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
  facts(2).history = facts(1).history;
  BOOST_TEST((registers(2).kind == Verdict::Kind::kFetch));  // it brought nothing before
  for (int i = 0; i < 10 * Readers::kAskAgain && schedule.frame().readers.reads(peer(2)); ++i)
    members_of_next_round();
  facts(2).step = facts(2).open_step = schedule.frame().open.step;
  facts(2).checksum = facts(1).checksum;
  facts(2).history = facts(1).history;
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
  now += std::chrono::seconds(5);
  const Orders averaged = close_all(carry_all());
  BOOST_TEST(noted<facts::BecameReader>(averaged).size() == 1u);
  // The same, but nobody can reach peer 1.
  World other;
  other.open(0);
  for (int i = 1; i < Readers::kPatience; ++i) other.step();
  other.now += std::chrono::seconds(5);
  const Orders filled = other.carry_all();
  other.facts(1).reachable = false;
  BOOST_TEST(noted<facts::BecameReader>(other.close_all(filled)).empty());
}

BOOST_FIXTURE_TEST_CASE(another_coordinator_decides_anew, World) {
  retire();
  schedule.close();
  facts(2).serving = true;
  open(3, 2);
  BOOST_TEST(facts(2).serving);
  BOOST_TEST(noted<facts::BecameReader>(step()).size() == 1u);  // of this one; it remembers
}

BOOST_FIXTURE_TEST_CASE(with_delayed_updates_the_pipeline_runs_dry_for_it,
                        SlowLink<DelayedSchedule>) {
  for (uint32_t n : {1u, 2u, 3u, 4u}) facts(n).average_bytes = 100'000'000;  // 100 s: not hidden
  open(0);
  bool dry = false, reads = false;
  Orders orders;
  for (int i = 0; i < 20 && !reads; ++i) {
    now += std::chrono::seconds(5);
    const Orders filled = carry_all();
    BOOST_TEST(all_of<orders::Gather>(filled).empty());
    append(orders, filled);
    const Orders closes = std::exchange(orders, {});
    for (const auto& close : all_of<orders::CloseStep>(closes)) dry |= !close.go_on;
    const Orders averaged = close_all(closes);
    BOOST_TEST(all_of<orders::Gather>(averaged).empty());
    commit_all(averaged);
    reads = !noted<facts::BecameReader>(averaged).empty();
    append(orders, averaged);
  }
  BOOST_TEST(dry);
  BOOST_TEST(reads);
}

BOOST_AUTO_TEST_SUITE_END()
