/// A coordinator's states, with voters that do what voter.h says.
#include "routing/membership/consent.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/voters.h"

namespace swarm::routing {
namespace {

using std::chrono::seconds;
using testing::at;
using testing::ballot;
using testing::come;
using testing::commit;
using testing::lead;
using testing::leave;
using testing::list;
using testing::process_of;
using Swarm = testing::VotersOfSwarm;

}  // namespace

BOOST_AUTO_TEST_SUITE(consent)

BOOST_AUTO_TEST_CASE(a_fresh_swarm_makes_the_first_configuration_of_all_who_are_here) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  BOOST_TEST(list(one) == "abc");
  BOOST_TEST(one.configuration().number.value() == 1u);
  BOOST_TEST(!one.may_commit(Step(0)));  // nobody has voted
  commit(one, swarm, 0);
  commit(one, swarm, 1);
  BOOST_TEST(!one.may_commit(Step(1)));
}

BOOST_AUTO_TEST_CASE(nothing_is_asked_twice_and_a_step_costs_one_question_each) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  commit(one, swarm, 0);
  BOOST_TEST(swarm.talk(one) == 0);
  one.want_votes(Step(1));
  BOOST_TEST(swarm.talk(one) == 3);
}

BOOST_AUTO_TEST_CASE(half_is_not_enough_for_a_commit_and_the_missing_are_named_after_a_while) {
  Swarm swarm("abcd");
  Consent one;
  lead(one, swarm, "abcd");
  commit(one, swarm, 0);
  leave(one, swarm, "cd");
  one.want_votes(Step(1));
  swarm.talk(one);
  BOOST_TEST(!one.may_commit(Step(1)));
  BOOST_TEST(!one.minority(swarm.now).has_value());
  swarm.pass(one, seconds(6));
  BOOST_REQUIRE(one.minority(swarm.now).has_value());
  BOOST_TEST(one.minority(swarm.now)->text() == "have 2 of 4, missing c, d");
  swarm.away.clear();
  come(one, "c");
  swarm.talk(one);
  BOOST_TEST(one.may_commit(Step(1)));
  BOOST_TEST(!one.minority(swarm.now).has_value());
}

BOOST_AUTO_TEST_CASE(
    who_is_lost_leaves_the_list_with_the_next_commit_so_that_others_may_be_lost_too) {
  Swarm swarm("abcde");
  Consent one;
  lead(one, swarm, "abcde");
  leave(one, swarm, "de");
  commit(one, swarm, 0);
  BOOST_TEST(list(one) == "abc");
  BOOST_TEST(one.configuration().number.value() == 2u);
  leave(one, swarm, "c");
  commit(one, swarm, 1);
  BOOST_TEST(list(one) == "ab");
  leave(one, swarm, "b");
  one.want_votes(Step(2));
  swarm.talk(one);
  BOOST_TEST(!one.may_commit(Step(2)));
}

BOOST_AUTO_TEST_CASE(who_comes_has_a_vote_once_it_takes_part) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  swarm.add("d");
  one.came("d", process_of("d"));
  commit(one, swarm, 0);
  BOOST_TEST(list(one) == "abc");
  one.attendance().takes_part(process_of("d"));
  commit(one, swarm, 1);
  BOOST_TEST(list(one) == "abcd");
  BOOST_TEST(swarm.voters.at("d").record().decided.number.value() == 2u);
}

BOOST_AUTO_TEST_CASE(a_smaller_part_with_a_coordinator_of_its_own_waits_and_a_larger_one_goes_on) {
  Swarm swarm("abcdefgh");
  Consent one;
  lead(one, swarm, "abcdefgh");
  commit(one, swarm, 0);
  swarm.away = {"a", "b", "c", "d", "e"};
  Consent small;
  come(small, "fgh");
  small.begin(ballot(2));
  swarm.talk(small);
  BOOST_TEST(small.waits_for() == "minority: have 3 of 8, missing a, b, c, d, e");
  BOOST_TEST(!small.open(at(1), swarm.now));

  swarm.away = {"f", "g", "h"};
  Consent large;
  lead(large, swarm, "abcde", 1, 3);
  BOOST_TEST(list(large) == "abcde");
  commit(large, swarm, 1);
  // The one before has its voters in both parts, and may commit nothing more.
  swarm.away = {"f", "g", "h"};
  one.want_votes(Step(1));
  swarm.pass(one, seconds(2));
  BOOST_TEST(!one.may_commit(Step(1)));
  BOOST_TEST(one.outranked().has_value());
}

BOOST_AUTO_TEST_CASE(a_change_that_may_hold_is_finished_by_the_next_coordinator) {
  Swarm swarm("abcde");
  Consent one;
  lead(one, swarm, "abcde");
  one.want_votes(Step(0));
  swarm.talk(one);
  leave(one, swarm, "e");
  swarm.mute = {"a", "b", "c", "d"};  // the change is stored, and the coordinator never hears of it
  one.commit(History(), swarm.now);
  swarm.talk(one);
  BOOST_TEST(list(one) == "abcde");
  swarm.mute.clear();
  Consent next;
  lead(next, swarm, "abc", 1, 2);
  BOOST_TEST(next.configuration().number.value() == 3u);  // 2 was finished
  BOOST_TEST(list(next) == "abc");
}

BOOST_AUTO_TEST_CASE(a_fresh_node_that_answers_first_does_not_begin_the_run_anew) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  swarm.add("d");
  Consent next;
  come(next, "ad");
  next.begin(ballot(2));
  for (const VoterAsk& ask : next.due(swarm.now))
    if (ask.node == "d") next.answered(ask, swarm.reach(ask), swarm.now);
  BOOST_TEST(next.waits_for() == "waiting for the answers of more than half");
  swarm.pass(next, seconds(2));
  BOOST_TEST(next.waits_for() == "minority: have 1 of 3, missing b, c");
}

BOOST_AUTO_TEST_CASE(a_vote_of_a_process_that_is_gone_does_not_count_and_the_next_is_asked) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  swarm.away = {"b", "c"};
  one.want_votes(Step(0));
  swarm.talk(one);
  swarm.restart("a");
  one.came("a", process_of("a", 1));
  swarm.away = {"a", "c"};
  swarm.pass(one, seconds(2));
  BOOST_TEST(!one.may_commit(Step(0)));  // b's is the only one
  swarm.away = {"c"};
  swarm.pass(one, seconds(2));
  BOOST_TEST(one.may_commit(Step(0)));
}

BOOST_AUTO_TEST_CASE(going_back_in_one_term_takes_another_number_that_says_so) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  commit(one, swarm, 0);
  commit(one, swarm, 1);
  BOOST_TEST(one.open(at(2), swarm.now));  // where it is: nothing to agree on
  BOOST_TEST(!one.open(at(1), swarm.now));
  BOOST_TEST(!one.may_commit(Step(1)));
  swarm.talk(one);
  BOOST_TEST(one.open(at(1), swarm.now));
  BOOST_TEST(one.configuration().number.value() == 2u);
  BOOST_TEST(one.configuration().gone_back);
  commit(one, swarm, 1);
}

BOOST_AUTO_TEST_CASE(another_base_while_one_is_being_stored_needs_another_ballot) {
  Swarm swarm("abc");
  Consent one;
  come(one, "abc");
  one.begin(ballot(1));
  swarm.talk(one);
  one.open(at(3), swarm.now);
  BOOST_TEST((one.snag(swarm.now) == Consent::Snag::kNone));
  one.open(at(2), swarm.now);
  BOOST_TEST((one.snag(swarm.now) == Consent::Snag::kStuck));
  lead(one, swarm, "abc", 2, 2);
  BOOST_TEST(one.configuration().base.step.value() == 2u);
}

BOOST_AUTO_TEST_CASE(a_change_that_can_hold_no_more_is_given_up_for_a_higher_ballot) {
  Swarm swarm("abcde");
  Consent one;
  lead(one, swarm, "abc");
  come(one, "de");
  one.want_votes(Step(0));
  swarm.talk(one);
  swarm.away = {"c", "d", "e"};
  one.commit(History(), swarm.now);
  swarm.talk(one);
  leave(one, swarm, "cde");
  swarm.pass(one, seconds(2));
  BOOST_TEST((one.snag(swarm.now) == Consent::Snag::kNone));
  swarm.pass(one, seconds(4));
  BOOST_TEST((one.snag(swarm.now) == Consent::Snag::kStuck));
}

// A voter with an empty disk took what it was asked, and counted for the list that it had forgotten.
BOOST_AUTO_TEST_CASE(who_has_lost_its_disk_has_no_vote_until_a_change_that_others_carry) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  commit(one, swarm, 0);
  swarm.away = {"b"};
  swarm.lose_disk("c");
  one.came("c", process_of("c", 1));
  one.attendance().takes_part(process_of("c", 1));
  one.attendance().gone(process_of("b"));
  one.want_votes(Step(1));
  swarm.pass(one, seconds(10));
  BOOST_TEST(!one.may_commit(Step(1)));  // a alone of those that know it
  swarm.pass(one, seconds(6));
  BOOST_REQUIRE(one.minority(swarm.now).has_value());
  BOOST_TEST(one.minority(swarm.now)->text() == "have 1 of 3, missing b, c");  // names, no disks
  swarm.away.clear();
  come(one, "b");
  commit(one, swarm, 1);
  BOOST_TEST((one.configuration().voters == Voters{"a", "b", "c#new"}));
  commit(one, swarm, 2);
}

// Nothing was changed but with a commit, so a long step could lose one after another until too few were left.
BOOST_AUTO_TEST_CASE(who_is_away_for_long_leaves_the_list_in_the_middle_of_a_step) {
  Swarm swarm("abcde");
  Consent one;
  lead(one, swarm, "abcde");
  commit(one, swarm, 0);
  for (const char* lost : {"e", "d", "c"}) {
    leave(one, swarm, lost);
    swarm.pass(one, seconds(1));
    swarm.pass(one, seconds(6));
  }
  BOOST_TEST(list(one) == "ab");
  one.want_votes(Step(1));
  swarm.talk(one);
  BOOST_TEST(one.may_commit(Step(1)));
}

// Its node is here, so nobody counted it as missing.
BOOST_AUTO_TEST_CASE(a_voter_that_fails_to_answer_counts_as_away_after_a_while) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  swarm.away = {"b", "c"};  // their disks fail; their links are up
  one.want_votes(Step(0));
  for (int i = 0; i < 14; ++i) swarm.pass(one, seconds(1));
  BOOST_REQUIRE(one.minority(swarm.now).has_value());
  BOOST_TEST(one.minority(swarm.now)->text() == "have 1 of 3, missing b, c");
}

BOOST_AUTO_TEST_CASE(a_change_that_is_known_to_hold_need_not_be_finished) {
  Swarm swarm("abcde");
  Consent one;
  lead(one, swarm, "abcde");
  leave(one, swarm, "e");
  one.want_votes(Step(0));
  swarm.talk(one);
  one.commit(History(), swarm.now);
  for (const char* voter : {"a", "b", "c", "d"}) {  // stored by all, learned by d only
    const auto asks = one.due(swarm.now);
    for (const VoterAsk& ask : asks)
      if (ask.what == VoterAsk::What::kStore) one.answered(ask, swarm.reach(ask), swarm.now);
    (void)voter;
  }
  swarm.voters.at("d").learn(one.configuration());
  BOOST_REQUIRE_EQUAL(list(one), "abcd");
  Consent next;
  come(next, "abd");
  next.begin(ballot(2));
  auto asks = next.due(swarm.now);
  for (const VoterAsk& ask : asks)
    if (ask.node != "d") next.answered(ask, swarm.reach(ask), swarm.now);
  BOOST_TEST(next.waits_for() != "");
  for (const VoterAsk& ask : asks)
    if (ask.node == "d") next.answered(ask, swarm.reach(ask), swarm.now);
  BOOST_TEST(next.waits_for() == "");
}

BOOST_AUTO_TEST_CASE(states_of_later_steps_than_can_be_are_of_another_history) {
  Swarm swarm("abc");
  Consent one;
  BOOST_TEST(!one.bounds().newest.has_value());
  lead(one, swarm, "abc", 5);
  commit(one, swarm, 5);
  BOOST_TEST(one.bounds().newest->value() == 6u);
  Consent next;
  come(next, "abc");
  next.begin(ballot(2));
  swarm.talk(next);
  BOOST_TEST(next.bounds().newest->value() == 6u);  // voted for at 5: it may count
  for (const char* voter : {"a", "b"}) swarm.restart(voter);
  Consent after;
  come(after, "abc");
  after.begin(ballot(3));
  swarm.talk(after);
  BOOST_TEST(!after.bounds().newest.has_value());  // most have forgotten
}

BOOST_AUTO_TEST_CASE(a_voter_that_follows_a_higher_ballot_does_not_end_a_reign_that_others_carry) {
  Swarm swarm("abc");
  Consent one;
  lead(one, swarm, "abc");
  BOOST_REQUIRE(swarm.voters.at("c").promise(ballot(9)).ok());
  commit(one, swarm, 0);
  swarm.pass(one, seconds(20));
  commit(one, swarm, 1);
  BOOST_TEST(!one.outranked().has_value());
  BOOST_TEST(list(one) == "abc");  // it counts again when somebody gathers
  leave(one, swarm, "b");
  one.want_votes(Step(2));
  swarm.pass(one, seconds(1));
  BOOST_TEST(!one.may_commit(Step(2)));
  BOOST_REQUIRE(one.outranked().has_value());
  BOOST_TEST(one.outranked()->value() == 9u);
  Consent next;
  lead(next, swarm, "ac", 2, 10);
  commit(next, swarm, 2);
}

// Peers are told of a commit, voters with the next request: a base beyond what they show was "gone back".
BOOST_AUTO_TEST_CASE(a_takeover_after_a_commit_that_peers_have_is_not_marked) {
  const auto after = [](uint64_t number) {
    return history_after(History(), {Step(0), {7}, Step(0), {}, number});
  };
  for (const uint64_t number : {1, 2}) {
    Swarm swarm("abcde");
    Consent one;
    lead(one, swarm, "abcde");
    one.want_votes(Step(0));
    swarm.talk(one);
    BOOST_REQUIRE(one.may_commit(Step(0)));
    Consent next;
    come(next, "abc");
    next.begin(ballot(2));
    swarm.talk(next);
    const Place base{Step(1), after(number)};
    next.open(base, swarm.now);
    swarm.talk(next);
    BOOST_REQUIRE(next.open(base, swarm.now));
    BOOST_TEST(next.configuration().gone_back == (number != 1));  // 2: of another history
  }
}

// Its answers count no more than the voters that are still here.
BOOST_AUTO_TEST_CASE(who_has_answered_and_is_gone_before_the_plan_is_no_agreement) {
  Swarm swarm("abcde");
  Consent one;
  lead(one, swarm, "abcde");
  commit(one, swarm, 0);
  Consent next;
  come(next, "abc");
  next.begin(ballot(2));
  swarm.talk(next);
  BOOST_TEST(next.waits_for() == "");
  leave(next, swarm, "c");
  swarm.pass(next, seconds(1));
  BOOST_TEST(next.waits_for() == "minority: have 2 of 5, missing c, d, e");
  swarm.pass(next, seconds(6));
  BOOST_TEST(next.minority(swarm.now).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing
