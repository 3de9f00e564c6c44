/// Parts that have both gone on, one of them forced, meet: what their voters are asked.
#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

#include "routing/membership/admission.h"
#include "tests/support/cut_swarm.h"

namespace swarm::routing {
namespace {

using std::chrono::seconds;
using testing::at;
using testing::ballot;
using testing::come;
using testing::commit;
using testing::Cut;
using testing::lead;
using testing::list;
using testing::process_of;
using Swarm = testing::VotersOfSwarm;

}  // namespace

BOOST_AUTO_TEST_SUITE(meeting_of_parts)

BOOST_AUTO_TEST_CASE(where_two_parts_meet_the_unforced_one_stays_and_the_other_joins_it_anew) {
  Cut cut;
  BOOST_TEST(cut.smaller.configuration().forks.size() == 1u);
  BOOST_TEST(cut.forks("d") == 1u);
  BOOST_TEST((cut.smaller.bounds().forked_in == cut.smaller.configuration().forks[0].number));
  Consent both;
  cut.gather(both, "abcde");
  BOOST_TEST(both.waits_for() == "");
  BOOST_TEST(both.configuration().forks.empty());
  BOOST_TEST((both.bounds().forked_in == ConfigurationNumber()));
  BOOST_TEST((*both.bounds().newest == Step(3)));  // not the seventh of the others
  BOOST_TEST(both.attendance().barred().count(process_of("d")) == 1u);
  BOOST_TEST(!both.attendance().apart());
  BOOST_TEST(both.attendance().barred().count(process_of("a")) == 0u);
  for (const auto* voter : {"d", "e"}) {
    BOOST_TEST(cut.swarm.voters.at(voter).answer().voter == std::string(voter) + "#.1");
    BOOST_TEST(cut.swarm.voters.at(voter).record().forsaken);
    BOOST_TEST(cut.forks(voter) == 0u);
  }
  cut.open(both, 3);
  BOOST_TEST(list(both) == "abc");
  come(both, "de");
  commit(both, cut.swarm, 3);
  commit(both, cut.swarm, 4);
  BOOST_TEST((both.configuration().voters == Voters{"a", "b", "c", "d#.1", "e#.1"}));
  BOOST_TEST(!cut.swarm.voters.at("d").record().forsaken);
}

BOOST_AUTO_TEST_CASE(a_forced_part_whose_coordinator_meets_the_unforced_one_gathers_anew) {
  Cut cut;
  come(cut.smaller, "a");
  cut.swarm.talk(cut.smaller);
  BOOST_TEST((cut.smaller.snag(cut.swarm.now) == Consent::Snag::kNone));
  BOOST_TEST(cut.smaller.attendance().apart());
  commit(cut.smaller, cut.swarm, 6);
  BOOST_TEST(list(cut.smaller) == "de");  // one of three does not stop it, and is not taken
  BOOST_TEST(cut.forks("a") == 0u);
  come(cut.smaller, "bc");
  cut.swarm.talk(cut.smaller);
  BOOST_TEST((cut.smaller.snag(cut.swarm.now) == Consent::Snag::kMeeting));
  cut.smaller.begin(ballot(9));
  cut.swarm.talk(cut.smaller);
  BOOST_TEST(cut.smaller.waits_for() == "");
  BOOST_TEST(cut.smaller.configuration().forks.empty());
}

// They were three of five, and waited for ever.
BOOST_AUTO_TEST_CASE(who_was_apart_when_a_forced_part_gathered_counts_with_those_that_come_later) {
  Cut cut;
  Consent next;
  cut.gather(next, "ade");
  BOOST_REQUIRE_EQUAL(next.waits_for(), "");
  cut.open(next, 6);
  BOOST_TEST(next.configuration().forks.size() == 1u);
  BOOST_TEST((next.snag(cut.swarm.now) == Consent::Snag::kNone));
  come(next, "b");
  cut.swarm.talk(next);
  BOOST_TEST((next.snag(cut.swarm.now) == Consent::Snag::kMeeting));
}

BOOST_AUTO_TEST_CASE(people_may_have_those_that_wait_apart_give_up_their_line) {
  Cut cut;
  BOOST_TEST(!cut.smaller.force(cut.swarm.now));
  come(cut.smaller, "a");
  cut.swarm.talk(cut.smaller);
  BOOST_TEST(cut.smaller.force(cut.swarm.now));
  cut.smaller.begin(ballot(9));
  cut.swarm.talk(cut.smaller);
  BOOST_TEST(cut.forks("a") == 1u);
  BOOST_TEST(cut.swarm.voters.at("a").record().forsaken);
  cut.open(cut.smaller, 6);
  BOOST_TEST(cut.smaller.configuration().forks.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_comes_from_a_forced_part_while_the_other_trains_gives_its_line_up) {
  Cut cut;
  come(cut.larger, "de");
  cut.swarm.talk(cut.larger);  // they have answered a higher ballot
  BOOST_TEST(cut.swarm.voters.at("d").answer().voter == "d#.1");
  BOOST_TEST(!cut.larger.outranked().has_value());
  come(cut.larger, "de");
  commit(cut.larger, cut.swarm, 3);
  BOOST_TEST(cut.larger.configuration().voters.size() == 5u);
}

// Both lines would have been given up.
BOOST_AUTO_TEST_CASE(nobody_gives_its_line_up_for_one_whose_nodes_have_just_gone_silent) {
  Cut cut;
  cut.swarm.pass(cut.larger, seconds(1));
  cut.swarm.away = {"b", "c"};  // no link is lost yet
  come(cut.larger, "de");
  cut.swarm.talk(cut.larger);
  BOOST_TEST(cut.forks("d") == 1u);
  BOOST_TEST(cut.larger.attendance().loses(process_of("d")));
  cut.swarm.away.clear();
  cut.swarm.pass(cut.larger, seconds(1));
  BOOST_TEST(cut.forks("d") == 0u);
}

BOOST_AUTO_TEST_CASE(nobody_gives_its_line_up_for_answers_that_were_long_under_way) {
  Cut cut;
  cut.swarm.pass(cut.larger, seconds(1));
  cut.larger.want_votes(Step(3));
  std::vector<std::pair<VoterAsk, Result<VoterReply>>> under_way;
  for (const VoterAsk& ask : cut.larger.due(cut.swarm.now))
    under_way.emplace_back(ask, cut.swarm.reach(ask));
  BOOST_REQUIRE(under_way.size() == 3u);
  cut.swarm.now += seconds(1);
  cut.swarm.away = {"a", "b", "c"};
  come(cut.larger, "de");
  cut.swarm.talk(cut.larger);
  for (const auto& [ask, reply] : under_way) cut.larger.answered(ask, reply, cut.swarm.now);
  cut.swarm.talk(cut.larger);
  BOOST_TEST(cut.forks("d") == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_gives_its_line_up_for_answers_from_before_it_came) {
  Cut cut;
  Consent both;
  cut.gather(both, "abc");
  BOOST_TEST(both.waits_for() == "");
  cut.swarm.pass(both, seconds(1));
  cut.swarm.away = {"b", "c"};
  come(both, "de");
  cut.swarm.talk(both);
  BOOST_TEST(cut.forks("d") == 1u);
  cut.swarm.away.clear();
  cut.swarm.pass(both, seconds(1));
  BOOST_TEST(cut.forks("d") == 0u);
}

// Its disk had been full for a while when the others' links went silent.
BOOST_AUTO_TEST_CASE(
    who_could_not_give_its_line_up_is_asked_again_only_after_another_confirmation) {
  Cut cut;
  come(cut.larger, "d");
  bool asked = false;
  for (int round = 0; round < 9 && !asked; ++round)
    for (const VoterAsk& ask : cut.larger.due(cut.swarm.now)) {
      const bool gives_up = ask.what == VoterAsk::What::kGiveUp;
      const Result<VoterReply> full = Error{ErrorCode::kIo, "no room"};
      cut.larger.answered(ask, gives_up ? full : cut.swarm.reach(ask), cut.swarm.now);
      asked |= gives_up;
    }
  BOOST_REQUIRE(asked);
  cut.swarm.away = {"a", "b", "c"};
  cut.swarm.pass(cut.larger, seconds(2));
  BOOST_TEST(cut.forks("d") == 1u);
  cut.swarm.away.clear();
  cut.swarm.pass(cut.larger, seconds(2));
  BOOST_TEST(cut.forks("d") == 0u);
}

// Each that came had everybody asked first whether they were still there.
BOOST_AUTO_TEST_CASE(votes_are_asked_for_while_those_who_lose_keep_coming) {
  Cut cut;
  come(cut.larger, "d");
  for (const VoterAsk& ask : cut.larger.due(cut.swarm.now))
    cut.larger.answered(ask, cut.swarm.reach(ask), cut.swarm.now);
  cut.swarm.now += seconds(1);
  cut.larger.want_votes(Step(3));
  size_t votes = 0;
  for (const VoterAsk& ask : cut.larger.due(cut.swarm.now))
    votes += ask.what == VoterAsk::What::kVote ? 1 : 0;
  BOOST_TEST(cut.larger.attendance().loses(process_of("d")));
  BOOST_TEST(votes == 3u);
}

// Its link was lost when all had promised the forced change and it had not heard yet that it holds. It was taken for one
// of the line before, which had been farther, and was never asked anything again.
BOOST_AUTO_TEST_CASE(who_is_of_a_forced_part_and_has_not_heard_that_it_holds_hears_it) {
  Swarm swarm("abcde");
  Consent one, forced;
  lead(one, swarm, "abcde");
  for (uint64_t step = 0; step < 4; ++step) commit(one, swarm, step);
  swarm.away = {"a", "b", "c"};
  come(forced, "de");
  forced.begin(ballot(3));
  swarm.talk(forced);
  swarm.pass(forced, seconds(6));
  BOOST_REQUIRE(forced.force(swarm.now));
  forced.begin(ballot(4));
  swarm.talk(forced);
  BOOST_REQUIRE_EQUAL(forced.waits_for(), "");
  forced.open(at(1), swarm.now);  // what is later is not there any more
  for (const VoterAsk& ask : forced.due(swarm.now))
    forced.answered(ask, swarm.reach(ask), swarm.now);
  BOOST_REQUIRE(forced.open(at(1), swarm.now));
  forced.attendance().gone(process_of("e"));
  come(forced, "e");
  swarm.talk(forced);
  BOOST_TEST(!forced.attendance().apart());
  BOOST_TEST(swarm.voters.at("e").record().decided.forks.size() == 1u);
  commit(forced, swarm, 1);
}

BOOST_AUTO_TEST_CASE(who_joins_anew_has_no_vote_before_it_takes_part) {
  Cut cut;
  cut.larger.came("d", process_of("d"));
  cut.swarm.talk(cut.larger);
  commit(cut.larger, cut.swarm, 3);
  BOOST_TEST(list(cut.larger) == "abc");
  BOOST_TEST(cut.larger.attendance().barred().count(process_of("d")) == 1u);
  cut.larger.attendance().takes_part(process_of("d"));
  commit(cut.larger, cut.swarm, 4);
  BOOST_TEST(list(cut.larger) == "abcd#.1");
  cut.swarm.talk(cut.larger);
  BOOST_TEST(cut.larger.attendance().barred().count(process_of("d")) == 0u);
}

// Its trainer had asked for leases before its voter had said anything: the vote came back at once, and what it gave
// up was of no other line any more.
BOOST_AUTO_TEST_CASE(who_took_part_before_its_voter_gave_its_line_up_does_not_any_more) {
  Cut cut;
  Roster roster(2);
  roster.report({process_of("d"), "stage.0"}, Stage(0), "d", {});
  cut.larger.came("d", process_of("d"));
  takes_part(cut.larger.attendance(), roster, process_of("d"));
  BOOST_TEST(
      !cut.larger.attendance().nodes().at("d").takes_part);  // nobody knows of which line it is
  cut.larger.attendance().takes_part(process_of("d"));
  cut.swarm.talk(cut.larger);
  BOOST_TEST(!cut.larger.attendance().nodes().at("d").takes_part);
  commit(cut.larger, cut.swarm, 3);
  BOOST_TEST(list(cut.larger) == "abc");
  BOOST_TEST(cut.swarm.voters.at("d").record().forsaken);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing
