#include "routing/membership/voter.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

Ballot ballot(uint64_t term, uint32_t of = 1) { return {Term(term), node(of)}; }

Configuration configuration(uint64_t number, const Voters& voters) {
  return {ConfigurationNumber(number), voters, {}, false};
}

const Voters kAll{"a", "b", "c"};
const Configuration kFirst = configuration(1, kAll), kSecond = configuration(2, {"a", "b"});

Voter voter() { return Voter("a", VoterRecord{ballot(1), kFirst, {}}, {}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(VoterTest)

BOOST_AUTO_TEST_CASE(a_lower_ballot_is_refused_once_a_higher_one_was_answered) {
  Voter a = voter();
  BOOST_TEST(a.promise(ballot(3)).ok());
  BOOST_TEST(a.promise(ballot(2)).code() == ErrorCode::kStaleTerm);
  BOOST_TEST(a.store(ballot(2), kFirst, kSecond).code() == ErrorCode::kStaleTerm);
  BOOST_TEST(a.apply(ballot(1), kFirst.number, {}).code() == ErrorCode::kStaleTerm);
}

BOOST_AUTO_TEST_CASE(of_two_coordinators_with_equal_terms_one_is_refused) {
  Voter a = voter();
  BOOST_TEST(a.promise(ballot(3, 2)).ok());
  BOOST_TEST(a.promise(ballot(3, 1)).code() == ErrorCode::kStaleTerm);
}

BOOST_AUTO_TEST_CASE(a_promise_outlives_the_process) {
  Voter a = voter();
  BOOST_TEST(a.promise(ballot(3)).ok());
  BOOST_TEST(a.store(ballot(3), kFirst, kSecond).ok());
  Voter again("a", a.record(), {});
  BOOST_TEST(again.promise(ballot(2)).code() == ErrorCode::kStaleTerm);
  BOOST_REQUIRE(again.answer().record.proposal.has_value());
  BOOST_TEST((again.answer().record.proposal->next == kSecond));
}

BOOST_AUTO_TEST_CASE(a_vote_does_not_outlive_the_process_and_the_answer_says_so) {
  Voter a = voter();
  BOOST_TEST(a.apply(ballot(1), kFirst.number, {Step(4), History(9)}).ok());
  BOOST_TEST(a.vote(ballot(1), kFirst.number, Step(4)).ok());
  BOOST_TEST(a.answer().remembers);
  BOOST_TEST(a.answer().mark->voted);
  Voter again("a", a.record(), {});
  BOOST_TEST(!again.answer().remembers);
  BOOST_TEST(!again.answer().mark.has_value());
  BOOST_TEST(again.apply(ballot(1), kFirst.number, {Step(4), History(9)}).ok());
  BOOST_TEST(again.answer().remembers);
}

BOOST_AUTO_TEST_CASE(who_is_not_at_the_step_does_not_vote_for_the_next) {
  Voter a = voter();
  BOOST_TEST(a.vote(ballot(1), kFirst.number, Step(0)).code() == ErrorCode::kStaleStep);
  BOOST_TEST(a.apply(ballot(1), kFirst.number, {Step(4), History(9)}).ok());
  BOOST_TEST(a.vote(ballot(1), kFirst.number, Step(5)).code() == ErrorCode::kStaleStep);
  BOOST_TEST(a.apply(ballot(1), kFirst.number, {Step(3), History(8)}).code() ==
             ErrorCode::kStaleStep);
}

BOOST_AUTO_TEST_CASE(being_told_again_where_it_is_takes_no_vote_back) {
  Voter a = voter();
  const Place place{Step(4), History(9)};
  BOOST_TEST(a.apply(ballot(1), kFirst.number, place).ok());
  BOOST_TEST(a.vote(ballot(1), kFirst.number, Step(4)).ok());
  BOOST_TEST(a.apply(ballot(1), kFirst.number, place).ok());
  BOOST_TEST(a.answer().mark->voted);
}

BOOST_AUTO_TEST_CASE(who_has_stored_a_change_votes_only_in_the_new_number) {
  Voter a = voter();
  BOOST_TEST(a.apply(ballot(1), kFirst.number, {}).ok());
  BOOST_TEST(a.store(ballot(1), kFirst, kSecond).ok());
  BOOST_TEST(a.vote(ballot(1), kFirst.number, Step(0)).code() == ErrorCode::kStaleTerm);
  BOOST_TEST(a.apply(ballot(1), kSecond.number, {}).code() == ErrorCode::kStaleTerm);
  BOOST_TEST(a.learn(kSecond));
  BOOST_TEST(a.apply(ballot(1), kSecond.number, {}).ok());
  BOOST_TEST(a.vote(ballot(1), kSecond.number, Step(0)).ok());
  BOOST_TEST(a.vote(ballot(1), kFirst.number, Step(0)).code() == ErrorCode::kStaleTerm);
}

BOOST_AUTO_TEST_CASE(a_change_of_the_past_or_of_the_far_future_is_not_stored) {
  Voter a = voter();
  BOOST_TEST(a.learn(kSecond));
  BOOST_TEST(!a.learn(kFirst));
  BOOST_TEST(a.store(ballot(1), kFirst, kSecond).code() == ErrorCode::kStaleTerm);
  BOOST_TEST(a.store(ballot(1), kSecond, configuration(4, kAll)).code() ==
             ErrorCode::kInvalidArgument);
}

// One message with a huge number, and every gathering since waited for that list.
BOOST_AUTO_TEST_CASE(a_number_that_jumps_is_refused_and_who_was_away_for_long_learns) {
  const auto far = [](uint64_t number) { return configuration(number, {"x", "y"}); };
  const auto refused = ErrorCode::kRefused;
  for (const uint64_t number : {kNumberJump + 2, ~uint64_t{0} - 1}) {
    Voter a = voter();
    BOOST_TEST((a.learn(ballot(1), far(number)).code() == refused));
    BOOST_TEST((a.store(ballot(1), far(number), far(number + 1)).code() == refused));
    Configuration other = far(number);
    other.fork(ballot(9));
    BOOST_TEST((a.give_up("a", other).code() == refused));
    BOOST_TEST((a.record().decided == kFirst));
  }
  Voter a = voter(), fresh("b", {}, {});
  BOOST_TEST(a.learn(ballot(1), far(kNumberJump + 1)).ok());
  BOOST_TEST(fresh.learn(ballot(1), far(1'000'000'000)).ok());
  BOOST_TEST(fresh.record().decided.number.value() == 1'000'000'000u);
}

BOOST_AUTO_TEST_CASE(of_a_lower_ballot_than_the_one_answered_nothing_is_learned) {
  Voter a = voter();
  BOOST_TEST(a.promise(ballot(3)).ok());
  BOOST_TEST((a.learn(ballot(2), kSecond).code() == ErrorCode::kStaleTerm));
  BOOST_TEST((a.record().decided == kFirst));
  BOOST_TEST(a.learn(ballot(3), kSecond).ok());
  BOOST_TEST(a.learn(ballot(4), kFirst).ok());  // old news
  BOOST_TEST((a.record().decided == kSecond));
}

BOOST_AUTO_TEST_CASE(a_node_without_a_disk_of_its_own_begins_with_the_list_of_the_file) {
  Voter a("a", {}, kAll);
  BOOST_TEST((a.record().decided.voters == kAll));
  BOOST_TEST(a.promise(ballot(1)).ok());
}

BOOST_AUTO_TEST_CASE(a_voter_goes_over_to_a_fork_by_itself_only_if_it_has_not_gone_on_since) {
  const auto forced = [](const Configuration& from) {
    Configuration next = from;
    next.number = from.number + 1;
    next.fork(ballot(9));
    return next;
  };
  const Configuration first{ConfigurationNumber(1), kAll, {}},
      second{ConfigurationNumber(2), kAll, {}};
  const Configuration fork = forced(first);
  Voter a("a", {}, {}), b("b", {}, {});
  BOOST_TEST(a.learn(first));
  BOOST_TEST(a.store(ballot(9), first, fork).ok());
  BOOST_TEST((a.record().decided == first));
  BOOST_TEST(!a.record().proposal.has_value());  // of its own line it forgets nothing
  BOOST_TEST((a.record().promised == ballot(9)));
  BOOST_TEST((a.store(ballot(9), first, forced(second)).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(a.learn(fork));
  BOOST_TEST(!a.learn(second));
  BOOST_TEST((a.store(ballot(9), second, {ConfigurationNumber(3), kAll, {}}).code() ==
              ErrorCode::kStaleTerm));
  BOOST_TEST(b.learn(second));
  BOOST_TEST(!b.learn(fork));
  BOOST_TEST(a.answer().voter == "a");
}

BOOST_AUTO_TEST_CASE(who_gives_up_its_line_is_another_voter_that_has_promised_nothing) {
  VoterRecord record;
  record.disk = "0f3a";
  record.decided = {ConfigurationNumber(5), {"a#0f3a"}, {}};
  record.decided.fork(ballot(9));
  Voter a("a", record, {});
  BOOST_TEST(a.promise(ballot(20)).ok());
  const Configuration holds{ConfigurationNumber(3), {"b", "c"}, {}};
  BOOST_TEST((a.give_up("a", holds).code() == ErrorCode::kStaleTerm));
  BOOST_TEST(a.give_up("a#0f3a", holds).ok());
  BOOST_TEST(a.answer().voter == "a#0f3a.1");
  BOOST_TEST((a.record().decided == holds));
  BOOST_TEST((a.record().promised == Ballot()));
  BOOST_TEST(a.record().forsaken);
  BOOST_TEST(!a.answer().remembers);
  BOOST_TEST((a.give_up("a#0f3a.1", holds).code() == ErrorCode::kStaleTerm));  // it is of that line
  BOOST_TEST(a.learn({ConfigurationNumber(4), {"b", "c"}, {}}));
  BOOST_TEST(a.record().forsaken);
  BOOST_TEST(a.learn({ConfigurationNumber(5), {"a#0f3a.1", "b"}, {}}));
  BOOST_TEST(!a.record().forsaken);
}

BOOST_AUTO_TEST_CASE(a_voter_is_named_by_its_node_and_its_disk) {
  VoterRecord record;
  record.disk = "0f3a";
  const std::string name = Voter("a-1", record, {}).answer().voter;
  BOOST_TEST(name == "a-1#0f3a");
  BOOST_TEST(node_of(name) == "a-1");
  const Voters list{"a", "a-1#1", "a.2#2", "b#3"};
  BOOST_TEST(voter_of(list, "a") == "a");
  BOOST_TEST(voter_of(list, "a-1") == "a-1#1");
  BOOST_TEST(voter_of(list, "a.") == "");
  BOOST_TEST(voter_of(list, "b") == "b#3");
  BOOST_TEST(voter_of(list, "c") == "");
  BOOST_TEST(count(list, {"a", "b#4"}).text() == "have 1 of 4, missing a-1, a.2, b");
}

BOOST_AUTO_TEST_SUITE_END()
