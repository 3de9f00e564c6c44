#include "routing/averaging/readers.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;

namespace {

const Stage kStage(1);
PeerId peer(uint32_t number) { return {testing::node(number), "stage.1"}; }

/// Three members with links of 10 MB/s, the last one's as a test wants; a vector of 10 MB.
struct Rounds {
  Readers readers;
  Readers::Done round;

  Rounds() {
    for (uint32_t i = 0; i < 3; ++i) round.members.push_back({peer(i), {1e7, 1e7}, 10});
    round.bytes = 1e7;
    round.filling_s = 5;
  }
  Readers::Member& slow() { return round.members[2]; }
  void done(int times = 1) {
    for (int i = 0; i < times; ++i) readers.done(kStage, round);
  }
  bool slow_is_due() const { return readers.due(kStage) == peer(2); }
  /// It reads, and the others' rounds go on without it.
  void retire() {
    done(Readers::kPatience);
    BOOST_REQUIRE(slow_is_due());
    readers.begin(kStage, peer(2));
    round.members.pop_back();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(ReadersSuite, Rounds)

BOOST_AUTO_TEST_CASE(equal_members_all_take_part) {
  done(100);
  BOOST_TEST(!readers.any_due());
  for (auto& member : round.members) member.link = {1e5, 1e5};  // all as slow as each other
  done(100);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(one_that_costs_more_than_it_brings_is_due_after_some_rounds) {
  slow().link = {1e6, 1e6};  // 10 s for its own vector; the others need 1.3
  slow().slots = 3;          // saves the others at most 5 s * 3 / 20
  done(Readers::kPatience - 1);
  BOOST_TEST(!readers.any_due());
  done();
  BOOST_TEST(slow_is_due());
  const auto worth = readers.worth(peer(2));
  BOOST_REQUIRE(worth.has_value());
  BOOST_TEST(worth->costs_s == 10 - 1.0, boost::test_tools::tolerance(0.01));
  BOOST_TEST(worth->saves_s == 0.75, boost::test_tools::tolerance(0.01));
  BOOST_TEST(worth->slots == 3);
  BOOST_TEST(!readers.reads(peer(2)));
}

BOOST_AUTO_TEST_CASE(a_slow_uplink_alone_is_enough) {
  slow().link = {1e6, 1e7};
  slow().slots = 1;
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());
}

BOOST_AUTO_TEST_CASE(one_whose_work_is_worth_it_stays) {
  slow().link = {1e6, 1e6};
  round.filling_s = 100;  // a third of the work: 50 s
  done(100);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(one_that_does_all_the_work_stays) {
  for (auto& member : round.members) member.slots = 0;
  slow().slots = 30;
  slow().link = {1e4, 1e4};
  done(100);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(a_round_that_is_hidden_behind_the_next_step_costs_nothing) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  round.hidden_s = 11;
  done(100);
  BOOST_TEST(!readers.any_due());
  round.hidden_s = 3;
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());
}

BOOST_AUTO_TEST_CASE(what_nobody_notices_is_left_alone) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  round.bytes = 1e5;  // 0.1 s of 5
  done(100);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(links_that_are_not_known_are_nobodys_fault) {
  slow().link = {};
  slow().slots = 0;
  done(100);
  BOOST_TEST(!readers.any_due());
  slow().link = {1e6, 0};
  done(100);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(a_moment_of_slowness_is_forgiven) {
  slow().slots = 0;
  for (int i = 0; i < 20; ++i) {
    slow().link = {1e6, 1e6};
    done(Readers::kPatience - 1);
    slow().link = {1e7, 1e7};
    done();
    BOOST_TEST(!readers.any_due());
  }
}

BOOST_AUTO_TEST_CASE(of_two_the_one_that_brings_less_reads_and_never_the_last) {
  round.members.erase(round.members.begin());
  Readers::Member& slow = round.members.back();
  slow.link = {1e6, 1e6};
  slow.slots = 3;
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());
  readers.begin(kStage, peer(2));
  round.members.pop_back();
  round.members.front().link = {1e3, 1e3};
  done(20);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(a_reader_is_asked_again_and_reads_on_after_one_round) {
  slow().link = {3e6, 3e6};
  slow().slots = 0;
  round.filling_s = 100;
  round.bytes = 1e8;  // 33 s instead of 10: a sixth of the step
  retire();
  BOOST_TEST(readers.reads(peer(2)));
  int rounds = 0;
  for (; readers.reads(peer(2)) && rounds < 1'000; ++rounds) done();
  BOOST_TEST(rounds >= Readers::kAskAgain);
  BOOST_TEST(rounds < 2 * Readers::kAskAgain);
  round.members.push_back({peer(2), {3e6, 3e6}, 0});
  done();
  BOOST_TEST(slow_is_due());
}

BOOST_AUTO_TEST_CASE(an_expensive_trial_comes_later) {
  slow().link = {1e5, 1e5};  // 100 s in a step of 6
  slow().slots = 0;
  retire();
  const int rounds = static_cast<int>(99 / (6 * Readers::kTrialShare));
  done(rounds * 9 / 10);
  BOOST_TEST(readers.reads(peer(2)));
  done(rounds / 5);
  BOOST_TEST(!readers.reads(peer(2)));
}

BOOST_AUTO_TEST_CASE(better_links_bring_a_reader_back_at_once) {
  slow().link = {1e6, 1e6};
  slow().slots = 8;
  retire();
  readers.told(peer(2), {2e6, 2e6});
  done();
  BOOST_TEST(readers.reads(peer(2)));
  readers.told(peer(2), {});  // says nothing
  readers.told(peer(2), {1e7, 1e7});
  done();
  BOOST_TEST(!readers.reads(peer(2)));
  round.members.push_back({peer(2), {1e7, 1e7}, 8});
  done(100);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(two_slow_ones_go_one_after_the_other) {
  round.members[1].link = {1e6, 1e6};
  round.members[1].slots = 2;
  slow().link = {5e5, 5e5};
  slow().slots = 2;
  round.members.push_back({peer(3), {1e7, 1e7}, 10});
  round.members.push_back({peer(4), {1e7, 1e7}, 10});
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());  // costs more
  readers.begin(kStage, peer(2));
  round.members.erase(round.members.begin() + 2);
  done(Readers::kPatience);
  BOOST_TEST((readers.due(kStage) == peer(1)));
}

BOOST_AUTO_TEST_CASE(after_a_gathering_all_take_part_until_the_first_round) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  retire();
  readers.admit_all();
  BOOST_TEST(!readers.reads(peer(2)));
  round.members.push_back({peer(2), {1e6, 1e6}, 0});
  done();
  BOOST_TEST(slow_is_due());
}

BOOST_AUTO_TEST_CASE(who_is_gone_is_forgotten) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  retire();
  readers.keep([](const PeerId& id) { return id != peer(2); });
  BOOST_TEST(!readers.reads(peer(2)));
  BOOST_TEST(!readers.worth(peer(2)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
