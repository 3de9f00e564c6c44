#include "routing/membership/lines.h"

#include <boost/test/unit_test.hpp>

#include "routing/membership/quorum.h"
#include "tests/support/ids.h"

namespace swarm::routing {
namespace {

Ballot ballot(uint64_t term) { return {Term(term), testing::node(1)}; }

Configuration configuration(uint64_t number, const Voters& voters, uint64_t step = 0) {
  return {ConfigurationNumber(number), voters, {Step(step), History(step)}};
}

/// The next one, of those alone.
Configuration forced(const Configuration& from, const Voters& voters, uint64_t term,
                     uint64_t step) {
  Configuration next = from;
  next.number = from.number + 1;
  next.voters = voters;
  next.base = {Step(step), History(step)};
  next.fork(ballot(term));
  return next;
}

Configuration after(const Configuration& from, uint64_t numbers = 1) {
  Configuration next = from;
  next.number = ConfigurationNumber(from.number.value() + numbers);
  next.gone_back = false;
  return next;
}

VoterAnswer answer(const std::string& voter, const Configuration& decided, uint64_t step) {
  VoterAnswer one;
  one.voter = voter;
  one.record.decided = decided;
  one.remembers = true;
  one.mark = Mark{decided.number, {Step(step), History(step)}, false};
  return one;
}

const Configuration kFive = configuration(4, {"a", "b", "c", "d", "e"}, 7);
const Configuration kFork = forced(kFive, {"d", "e"}, 30, 9);

Configuration stays(const std::vector<VoterAnswer>& answers) {
  return *going_on(lines_of(answers)).newest;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lines_of_history)

BOOST_AUTO_TEST_CASE(a_fork_is_kept_by_all_that_follow) {
  BOOST_TEST(kFork.forced());
  BOOST_TEST(kFork.gone_back);
  BOOST_TEST(!kFive.forced());
  const Configuration next = after(kFork);
  BOOST_TEST(!next.forced());
  BOOST_TEST((next.line() == kFork.line()));
  BOOST_TEST((kFive.line() == Ballot()));
  BOOST_TEST((*fork_between(kFive, next) == kFork.forks.front()));
  BOOST_TEST(fork_between(next, kFive) == nullptr);
  BOOST_TEST(fork_between(next, kFork) == nullptr);
  const Configuration other = forced(kFive, {"a"}, 31, 9);
  BOOST_TEST(fork_between(kFork, other) == nullptr);
  BOOST_TEST((fork_between(next, forced(next, {"d"}, 40, 12))->ballot == ballot(40)));
}

BOOST_AUTO_TEST_CASE(forks_are_bounded) {
  Configuration one = kFive;
  for (uint64_t i = 1; i <= kMostForks + 3; ++i) one = forced(one, {"d"}, 100 + i, 20 + i);
  BOOST_TEST(one.forks.size() == kMostForks);
  BOOST_TEST((one.line() == ballot(100 + kMostForks + 3)));
  BOOST_TEST((fork_between(kFive, one)->ballot == ballot(101)));  // the first stays
}

BOOST_AUTO_TEST_CASE(who_has_only_waited_joins_a_part_that_was_forced) {
  const std::vector<VoterAnswer> all{answer("a", kFive, 9), answer("b", kFive, 9),
                                     answer("c", kFive, 9), answer("d", kFork, 20),
                                     answer("e", kFork, 20)};
  BOOST_TEST((stays(all) == kFork));
  BOOST_TEST((stand(kFive, kFork, lines_of(all)) == Stand::kOurs));
  const Ruling ruling = judge(all);
  BOOST_TEST((ruling.kind == Ruling::Kind::kGoOn));
  BOOST_TEST(ruling.newest.step == Step(20));
  BOOST_TEST(ruling.elsewhere.empty());
}

BOOST_AUTO_TEST_CASE(the_part_that_was_not_forced_stays_whatever_the_steps) {
  const Configuration three = after(configuration(4, {"a", "b", "c"}));  // made by itself
  const Configuration far = after(kFork, 30);
  const std::vector<VoterAnswer> all{answer("a", three, 10), answer("b", three, 10),
                                     answer("c", kFive, 9), answer("d", far, 900),
                                     answer("e", far, 900)};
  BOOST_TEST((stays(all) == three));
  const Ruling ruling = judge(all);
  BOOST_TEST((ruling.decided == three));
  BOOST_TEST((ruling.kind == Ruling::Kind::kGoOn));
  BOOST_TEST(ruling.newest.step == Step(10));
  BOOST_TEST(ruling.elsewhere.size() == 2u);
  BOOST_TEST((ruling.elsewhere.at("d") == Stand::kLoses));
  BOOST_TEST(successor(ruling, {"a"}, {}).forks.empty());
}

BOOST_AUTO_TEST_CASE(a_place_beyond_the_fork_is_enough) {
  std::vector<VoterAnswer> all{answer("a", kFive, 10), answer("b", kFive, 9), answer("c", kFive, 9),
                               answer("d", kFork, 20), answer("e", kFork, 20)};
  BOOST_TEST((stays(all) == kFive));
  all.front() = answer("a", kFive, 9);
  BOOST_TEST((stays(all) == kFork));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_too_small_to_go_on_stops_no_other_and_keeps_what_it_has) {
  const Configuration three = after(configuration(4, {"a", "b", "c"}));
  const std::vector<VoterAnswer> all{answer("a", three, 10), answer("d", kFork, 900),
                                     answer("e", kFork, 900)};
  BOOST_TEST((stays(all) == kFork));
  const Ruling ruling = judge(all);
  BOOST_TEST((ruling.kind == Ruling::Kind::kGoOn));
  BOOST_TEST((ruling.elsewhere.at("a") == Stand::kApart));
}

BOOST_AUTO_TEST_CASE(a_line_whose_voters_have_left_for_a_fork_is_over) {
  const Configuration four = configuration(4, {"a", "b", "c", "d"}, 7);
  const Configuration fork = forced(four, {"c", "d"}, 30, 9);
  const std::vector<VoterAnswer> all{answer("a", four, 10), answer("b", four, 10),
                                     answer("c", fork, 9), answer("d", fork, 9)};
  BOOST_TEST((stays(all) == fork));
  BOOST_TEST((stand(four, fork, lines_of(all)) == Stand::kOurs));
  const Configuration later = after(four);
  BOOST_TEST((stays({answer("a", later, 10), answer("b", later, 10), answer("c", fork, 9),
                     answer("d", fork, 9)}) == fork));
}

// Theirs are other names by now: "a#1.1" was "a#1".
BOOST_AUTO_TEST_CASE(a_line_whose_voters_have_given_it_up_is_over) {
  const Configuration six = configuration(4, {"a#1", "b#1", "c#1", "d#1", "e#1", "f#1"}, 7);
  const Configuration four = after(configuration(4, {"a#1", "b#1", "c#1", "d#1"}));
  const Configuration fork = forced(six, {"e#1", "f#1"}, 30, 9);
  Configuration joined = after(fork);
  joined.voters = {"a#1.1", "b#1.1", "e#1", "f#1"};
  std::vector<VoterAnswer> all{answer("c#1", four, 20), answer("e#1", joined, 9),
                               answer("f#1", joined, 9), answer("a#1.1", joined, 9)};
  BOOST_TEST((stays(all) == joined));
  BOOST_TEST((stand(four, joined, lines_of(all)) == Stand::kApart));  // b and d may be of it
  all.push_back(answer("b#1.1", joined, 9));
  BOOST_TEST((stand(four, joined, lines_of(all)) == Stand::kLoses));
  all.back().voter = "b#2";  // of another disk, that knows nothing of the one before
  BOOST_TEST((stand(four, joined, lines_of(all)) == Stand::kApart));
}

BOOST_AUTO_TEST_CASE(
    of_two_forced_parts_the_fewest_forks_then_the_most_voters_then_the_lower_ballot) {
  const Configuration six = configuration(4, {"a", "b", "c", "d", "e", "f"}, 7);
  const Configuration left = forced(six, {"a", "b"}, 30, 9), right = forced(six, {"c", "d"}, 31, 9);
  const auto meet = [](const Configuration& one, const Configuration& other) {
    std::vector<VoterAnswer> all;
    for (const auto& voter : one.voters) all.push_back(answer(voter, one, 9));
    for (const auto& voter : other.voters) all.push_back(answer(voter, other, 9));
    return stays(all);
  };
  BOOST_TEST((meet(left, right) == left));
  BOOST_TEST((meet(right, left) == left));
  const Configuration large = forced(six, {"c", "d", "e"}, 31, 9);
  BOOST_TEST((meet(left, large) == large));
  const Configuration twice = forced(large, {"c", "d", "e", "f"}, 40, 12);
  BOOST_TEST((meet(left, twice) == left));
}

BOOST_AUTO_TEST_CASE(a_fork_of_a_part_that_has_gone_on_does_not_make_way_for_one_that_has_not) {
  // The early fork loses against the trunk, which loses against the late one.
  const Configuration all = configuration(4, {"a", "b", "c", "d", "e", "x", "y"}, 5);
  const Configuration trunk = configuration(5, {"a", "b", "c", "d", "e"}, 7);
  const Configuration early = forced(all, {"x", "y"}, 30, 6),
                      late = forced(trunk, {"d", "e"}, 31, 9);
  std::vector<VoterAnswer> answers{answer("x", early, 50), answer("y", early, 50),
                                   answer("d", late, 9), answer("e", late, 9)};
  BOOST_TEST((stays(answers) == early));
  for (const auto* waited : {"a", "b", "c"}) answers.push_back(answer(waited, trunk, 8));
  BOOST_TEST((stays(answers) == late));
}

BOOST_AUTO_TEST_CASE(an_empty_disk_does_not_begin_the_run_anew_beside_a_fork) {
  const Ruling ruling = judge({answer("d", kFork, 9), answer("a", configuration(0, {}), 0)});
  BOOST_TEST((ruling.kind == Ruling::Kind::kWait));
  BOOST_TEST((ruling.decided == kFork));
  BOOST_TEST(ruling.count.text() == "have 1 of 2, missing e");
}

BOOST_AUTO_TEST_CASE(a_change_of_another_line_is_not_finished) {
  const Configuration three = after(configuration(4, {"a", "b", "c"}));
  VoterAnswer d = answer("d", kFork, 9);
  d.record.proposal = Proposal{ballot(50), after(kFork)};  // of the number that follows on `three`
  const Ruling ruling = judge({answer("a", three, 10), answer("b", three, 10), d});
  BOOST_TEST((ruling.kind == Ruling::Kind::kGoOn));
  BOOST_TEST((ruling.decided == three));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing
