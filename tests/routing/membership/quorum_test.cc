#include "routing/membership/quorum.h"

#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>

#include "routing/membership/change.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;
using Kind = Ruling::Kind;

namespace {

Ballot ballot(uint64_t term) { return {Term(term), node(1)}; }

Configuration configuration(uint64_t number, const Voters& voters, uint64_t step = 0) {
  return {ConfigurationNumber(number), voters, {Step(step), History(step)}, false};
}

/// Answers of voters that know `decided` and are at `step`.
VoterAnswer answer(const std::string& voter, const Configuration& decided, uint64_t step,
                   bool voted = false) {
  VoterAnswer one;
  one.voter = voter;
  one.record.decided = decided;
  one.remembers = true;
  one.mark = Mark{decided.number, {Step(step), History(step)}, voted};
  return one;
}

VoterAnswer forgetful(const std::string& voter, const Configuration& decided) {
  VoterAnswer one = answer(voter, decided, 0);
  one.remembers = false;
  one.mark.reset();
  return one;
}

VoterAnswer with(VoterAnswer one, uint64_t term, const Configuration& next) {
  one.record.proposal = Proposal{ballot(term), next};
  return one;
}

const Configuration kFive = configuration(1, {"a", "b", "c", "d", "e"});
const Configuration kThree = configuration(2, {"a", "b", "c"}, 7);

}  // namespace

BOOST_AUTO_TEST_SUITE(QuorumTest)

BOOST_AUTO_TEST_CASE(the_smaller_part_waits_and_says_for_whom) {
  const auto ruling = judge({answer("a", kFive, 7), answer("b", kFive, 7)});
  BOOST_TEST((ruling.kind == Kind::kWait));
  BOOST_TEST(ruling.count.text() == "have 2 of 5, missing c, d, e");
}

BOOST_AUTO_TEST_CASE(a_half_waits) {
  const Configuration two = configuration(1, {"a", "b"});
  BOOST_TEST((judge({answer("a", two, 0)}).kind == Kind::kWait));
}

BOOST_AUTO_TEST_CASE(the_larger_part_goes_on_from_the_newest_place_that_is_shown) {
  const auto ruling = judge({answer("a", kFive, 6), answer("b", kFive, 7), answer("d", kFive, 6)});
  BOOST_TEST((ruling.kind == Kind::kGoOn));
  BOOST_TEST(ruling.newest.step == Step(7));
  BOOST_TEST(!ruling.perhaps_more);
  const auto next = successor(ruling, {"a", "b", "d"}, ruling.newest);
  BOOST_TEST(next.number.value() == 2u);
  BOOST_TEST(!next.gone_back);
}

BOOST_AUTO_TEST_CASE(a_vote_that_may_have_counted_makes_the_swarm_say_that_it_goes_back) {
  const auto ruling =
      judge({answer("a", kFive, 7), answer("b", kFive, 7), answer("c", kFive, 7, true)});
  BOOST_TEST((ruling.kind == Kind::kGoOn));
  BOOST_TEST(ruling.perhaps_more);  // c, d and e are more than half
  BOOST_TEST(successor(ruling, {"a", "b", "c"}, ruling.newest).gone_back);
  const auto four = judge({answer("a", kFive, 7), answer("b", kFive, 7), answer("d", kFive, 7),
                           answer("c", kFive, 7, true)});
  BOOST_TEST(!four.perhaps_more);
}

BOOST_AUTO_TEST_CASE(who_began_anew_counts_and_knows_nothing) {
  const auto ruling = judge({answer("a", kFive, 7), answer("b", kFive, 7), forgetful("c", kFive)});
  BOOST_TEST((ruling.kind == Kind::kGoOn));
  BOOST_TEST(ruling.perhaps_more);
}

BOOST_AUTO_TEST_CASE(a_base_that_is_older_than_the_newest_place_is_a_going_back) {
  const auto ruling = judge({answer("a", kFive, 7), answer("b", kFive, 7), answer("c", kFive, 7)});
  BOOST_TEST(successor(ruling, {"a", "b", "c"}, {Step(5), History(5)}).gone_back);
  BOOST_TEST(successor(ruling, {"a", "b", "c"}, {ruling.newest.step, History(99)}).gone_back);
}

BOOST_AUTO_TEST_CASE(a_change_that_may_hold_is_finished_first) {
  const auto ruling = judge({with(answer("a", kFive, 7), 3, kThree), answer("d", kFive, 7),
                             with(answer("c", kFive, 7), 3, kThree)});
  BOOST_TEST((ruling.kind == Kind::kFinish));  // b may have stored it too
  BOOST_TEST((ruling.unfinished == kThree));
  auto answers = after(kThree, {with(answer("a", kFive, 7), 3, kThree), answer("d", kFive, 7),
                                with(answer("c", kFive, 7), 3, kThree)});
  const auto then = judge(answers);
  BOOST_TEST((then.kind == Kind::kGoOn));
  BOOST_TEST((then.decided == kThree));
  BOOST_TEST(then.newest.step == Step(7));
}

BOOST_AUTO_TEST_CASE(who_saw_a_change_counts_the_new_list_too) {
  const auto ruling =
      judge({with(answer("c", kFive, 7), 3, kThree), answer("d", kFive, 7), answer("e", kFive, 7)});
  BOOST_TEST((ruling.kind == Kind::kWait));
  BOOST_TEST(ruling.count.text() == "have 1 of 3, missing a, b");
}

BOOST_AUTO_TEST_CASE(a_change_that_cannot_hold_is_superseded) {
  const auto ruling = judge({with(answer("a", kFive, 7), 3, kThree), answer("b", kFive, 7),
                             answer("c", kFive, 7), answer("d", kFive, 7)});
  BOOST_TEST((ruling.kind == Kind::kGoOn));
  BOOST_TEST((ruling.decided == kFive));
}

BOOST_AUTO_TEST_CASE(of_two_changes_the_one_of_the_higher_ballot_may_hold) {
  const Configuration other = configuration(2, {"c", "d", "e"}, 6);
  const auto ruling =
      judge({with(answer("a", kFive, 7), 3, kThree), with(answer("c", kFive, 7), 4, other),
             with(answer("d", kFive, 7), 4, other)});
  BOOST_TEST((ruling.kind == Kind::kFinish));
  BOOST_TEST((ruling.unfinished == other));
}

BOOST_AUTO_TEST_CASE(who_has_lost_its_disk_counts_for_nothing) {
  VoterAnswer wiped = forgetful("c#new", configuration(0, {}));
  BOOST_TEST((judge({wiped, answer("d", kFive, 7), answer("e", kFive, 7)}).kind == Kind::kWait));
}

BOOST_AUTO_TEST_CASE(at_the_first_start_the_list_of_the_file_decides) {
  const Configuration file = configuration(0, {"a", "b", "c"});
  BOOST_TEST((judge({forgetful("a", file)}).kind == Kind::kWait));
  const auto ruling = judge({forgetful("a", file), forgetful("b", file)});
  BOOST_TEST((ruling.kind == Kind::kGoOn));
  BOOST_TEST((judge({forgetful("a", configuration(0, {}))}).kind == Kind::kFound));
}

BOOST_AUTO_TEST_CASE(two_disjoint_parts_never_both_go_on) {
  const bool holds = rc::check("any answers, cut in two", [] {
    const Voters names{"a", "b", "c", "d", "e", "f", "g"};
    std::vector<VoterAnswer> sides[2];
    for (const std::string& name : names) {
      auto one =
          answer(name, kFive, *rc::gen::inRange<uint64_t>(0, 3), *rc::gen::arbitrary<bool>());
      if (*rc::gen::arbitrary<bool>()) one = with(one, *rc::gen::inRange(1, 4), kThree);
      if (*rc::gen::inRange(0, 4) == 0) one.record.decided = kThree;
      if (one.record.decided == kThree) one.record.proposal.reset();
      const auto side = *rc::gen::inRange(0, 3);
      if (side < 2) sides[side].push_back(one);
    }
    const auto first = judge(sides[0]), second = judge(sides[1]);
    if (first.decided == second.decided)
      RC_ASSERT(first.kind == Kind::kWait || second.kind == Kind::kWait);
    for (const Ruling& ruling : {first, second})
      if (ruling.kind == Kind::kWait && ruling.count.of > 0) RC_ASSERT(!ruling.count.most());
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(a_change_needs_more_than_half_of_both_lists) {
  Change change{kFive, configuration(2, {"a", "b", "f", "g"}), {}};
  change.stored = {"a", "b", "c"};
  BOOST_TEST(!change.holds());  // two of the new four
  change.stored = {"a", "b", "f", "g"};
  BOOST_TEST(!change.holds());  // two of the old five
  change.stored = {"a", "b", "c", "f"};
  BOOST_TEST(change.holds());
}

BOOST_AUTO_TEST_SUITE_END()
