#include "routing/averaging/readers.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;

namespace {

const Stage kStage(1);
PeerId peer(uint32_t number) { return {testing::node(number), "stage.1"}; }

/// Three members with links of 10 MB/s, the last one's as a test wants; a vector of 10 MB. Another stage
/// of which nothing is known, unless a test adds members.
struct Rounds {
  Readers readers;
  Readers::Done step;
  Readers::Round &other, &round;

  Rounds() : step{std::vector<Readers::Round>(2)}, other(step.rounds[0]), round(step.rounds[1]) {
    for (uint32_t i = 0; i < 3; ++i) add(i, 1e7);
    round.bytes = other.bytes = 1e7;
    round.took_s = 1e9;  // as long as the links make it
    step.filling_s = 5;
  }
  void add(uint32_t i, double rate, size_t slots = 10) {
    round.members.push_back({peer(i), {rate, rate}, slots});
  }
  void add_to_other(uint32_t i, double rate, size_t slots = 10) {
    other.members.push_back({peer(i), {rate, rate}, slots});
  }
  Readers::Member& slow() { return round.members[2]; }
  void done(int times = 1) {
    for (int i = 0; i < times; ++i) readers.done(step);
  }
  std::optional<PeerId> due() const { return readers.due(kStage); }
  bool slow_is_due() const { return due() == peer(2); }
  void leaves(uint32_t i, Readers::Round& from) {
    auto& members = from.members;
    members.erase(std::find_if(members.begin(), members.end(),
                               [i](const auto& one) { return one.peer == peer(i); }));
  }
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
  step.filling_s = 100;  // a third of the work: 50 s
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
  step.hidden_s = 11;
  done(100);
  BOOST_TEST(!readers.any_due());
  step.hidden_s = 3;
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
  add_to_other(8, 1e7);
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

// Of two alone nobody knows which of them says what is not so.
BOOST_AUTO_TEST_CASE(of_a_swarm_of_two_both_stay) {
  round.members.erase(round.members.begin());
  round.members.back().link = {1e6, 1e6};
  round.members.back().slots = 0;
  done(100);
  BOOST_TEST(!readers.any_due());
}

BOOST_AUTO_TEST_CASE(a_reader_is_asked_again_and_reads_on_after_one_round) {
  slow().link = {3e6, 3e6};
  slow().slots = 0;
  step.filling_s = 100;
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
  slow().link = {4e5, 4e5};  // 25 s in a step of 6
  slow().slots = 0;
  retire();
  const int rounds = static_cast<int>(24 / (6 * Readers::kTrialShare));
  BOOST_REQUIRE(rounds > Readers::kAskAgain);
  done(rounds * 9 / 10);
  BOOST_TEST(readers.reads(peer(2)));
  done(rounds / 5);
  BOOST_TEST(!readers.reads(peer(2)));
}

BOOST_AUTO_TEST_CASE(however_expensive_it_comes) {
  slow().link = {1e3, 1e3};
  slow().slots = 0;
  retire();
  done(Readers::kAskLatest - 1);
  BOOST_TEST(readers.reads(peer(2)));
  done();
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
  add(3, 1e7);
  add(4, 1e7);
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());  // costs more
  readers.begin(kStage, peer(2));
  leaves(2, round);
  done();
  BOOST_TEST((due() == peer(1)));
}

// Without either of them alone the round takes as long.
BOOST_AUTO_TEST_CASE(two_that_are_as_slow_as_each_other_do_not_hide_one_another) {
  for (const uint32_t i : {1u, 2u}) round.members[i] = {peer(i), {1e6, 1e6}, 1};
  add(3, 1e7);
  add(4, 1e7);
  done(Readers::kPatience - 1);
  BOOST_TEST(!readers.any_due());
  done();
  const auto first = due();
  BOOST_REQUIRE((first == peer(1) || first == peer(2)));
  const auto worth = readers.worth(*first);
  BOOST_TEST(worth->costs_s == 10 - 4.0 / 3, boost::test_tools::tolerance(0.05));
  readers.begin(kStage, *first);
  leaves(first == peer(1) ? 1 : 2, round);
  done();
  BOOST_REQUIRE(due().has_value());
  BOOST_TEST((*due() != *first));
}

BOOST_AUTO_TEST_CASE(they_are_not_hidden_when_all_take_part_again_either) {
  for (const uint32_t i : {1u, 2u}) round.members[i] = {peer(i), {1e6, 1e6}, 1};
  add(3, 1e7);
  add(4, 1e7);
  const auto all = step;
  for (int i = 0; i < 2; ++i) {
    done(i == 0 ? Readers::kPatience : 1);
    BOOST_REQUIRE(due().has_value());
    const auto one = *due();
    readers.begin(kStage, one);
    leaves(one == peer(1) ? 1 : 2, round);
  }
  readers.admit_all();
  step = all;
  done();
  BOOST_TEST(due().has_value());
}

BOOST_AUTO_TEST_CASE(two_that_bring_enough_together_stay) {
  for (const uint32_t i : {1u, 2u}) round.members[i] = {peer(i), {1e6, 1e6}, 10};
  add(3, 1e7);
  add(4, 1e7);
  step.filling_s = 20;  // a third of it is more than the 9 s
  done(100);
  BOOST_TEST(!readers.any_due());
}

// All wait for all stages.
BOOST_AUTO_TEST_CASE(a_round_that_is_no_longer_than_another_stages_costs_nothing) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  for (uint32_t i = 6; i < 12; ++i) add_to_other(i, 1e7);
  other.bytes = 6e7;  // 10 s
  other.took_s = 10;
  done(100);
  BOOST_TEST(!readers.any_due());
  other.bytes = 3e7;
  other.took_s = 5;
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());
  BOOST_TEST(readers.worth(peer(2))->costs_s == 5, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(slow_ones_of_two_stages_do_not_hide_one_another) {
  slow().link = {1e6, 1e6};
  slow().slots = 1;
  for (uint32_t i = 6; i < 9; ++i) add_to_other(i, 1e7);
  other.members[2] = {peer(8), {1e6, 1e6}, 1};
  other.took_s = 1e9;
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());
  BOOST_TEST((readers.due(Stage(0)) == peer(8)));
}

// -- what members tell may be anything

BOOST_AUTO_TEST_CASE(nobody_costs_more_than_the_rounds_took) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  round.bytes = 1e18;
  round.took_s = 0.2;
  done(100);
  BOOST_TEST(!readers.any_due());
  round.took_s = 4;
  done(Readers::kPatience);
  BOOST_TEST(slow_is_due());
  BOOST_TEST(readers.worth(peer(2))->costs_s == 4);
}

BOOST_AUTO_TEST_CASE(one_that_tells_of_great_links_makes_nobody_slow) {
  for (const size_t others : {1u, 2u, 3u, 4u}) {
    Rounds swarm;
    swarm.round.members.clear();
    swarm.add(20, 1e12, 30);
    for (uint32_t i = 0; i < others; ++i) swarm.add(i, 1e7, 0);
    swarm.done(100);
    BOOST_TEST(!swarm.readers.any_due());
    swarm.add_to_other(30, 1e7);
    swarm.add_to_other(31, 1e7);
    swarm.done(100);
    BOOST_TEST(!swarm.readers.any_due());
  }
}

BOOST_AUTO_TEST_CASE(most_of_them_are_never_slow) {
  for (auto& member : round.members) member = {member.peer, {1e6, 1e6}, 0};
  add(3, 1e7, 30);
  add(4, 1e7, 30);
  done(100);
  BOOST_TEST(!readers.any_due());
}

// -- gatherings, links that are lost

BOOST_AUTO_TEST_CASE(after_a_gathering_all_take_part_until_the_first_round) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  retire();
  readers.admit_all();
  BOOST_TEST(!readers.reads(peer(2)));
  add(2, 1e6, 0);
  done();
  BOOST_TEST(slow_is_due());
}

BOOST_AUTO_TEST_CASE(a_reader_that_is_away_for_a_while_reads_when_it_comes_back) {
  slow().link = {1e6, 1e6};
  slow().slots = 8;
  retire();
  const auto others = [](const PeerId& id) { return id != peer(2); };
  for (int i = 0; i < 20; ++i) readers.keep(others);
  BOOST_TEST(readers.reads(peer(2)));
  readers.told(peer(2), {});  // it is back, and knows no links
  done();
  BOOST_TEST(readers.reads(peer(2)));
  readers.told(peer(2), {1e7, 1e7});  // they are better now
  done();
  BOOST_TEST(!readers.reads(peer(2)));
}

BOOST_AUTO_TEST_CASE(who_is_gone_is_forgotten) {
  slow().link = {1e6, 1e6};
  slow().slots = 0;
  retire();
  const auto nobody = [](const PeerId&) { return false; };
  readers.keep(nobody);
  BOOST_TEST(!readers.worth(peer(1)).has_value());  // no reader
  for (int i = 0; i < Readers::kAskLatest; ++i) readers.keep(nobody);
  BOOST_TEST(!readers.reads(peer(2)));
  BOOST_TEST(!readers.worth(peer(2)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
