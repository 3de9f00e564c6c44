#include "routing/membership/consent_watch.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/voters.h"

namespace swarm::routing {
namespace {

using std::chrono::seconds;
using testing::ballot;
using testing::VotersOfSwarm;
using Kind = ConsentWatch::Ruling::Kind;

template <class F>
std::vector<F> of(const std::vector<Fact>& notes) {
  std::vector<F> found;
  for (const Fact& note : notes)
    if (const F* one = std::get_if<F>(&note)) found.push_back(*one);
  return found;
}

struct Watched {
  VotersOfSwarm swarm{"abcd"};
  Consent consent;
  ConsentWatch watch;
  std::vector<Fact> notes;

  explicit Watched(std::optional<Time> continue_after = std::nullopt) : watch(continue_after) {
    testing::lead(consent, swarm, "abcd");
  }
  Kind after(Time time) {
    swarm.pass(consent, time);
    notes.clear();
    return watch.rule(consent, Term(4096), swarm.now, notes).kind;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(consent_watch)

BOOST_AUTO_TEST_CASE(a_configuration_is_told_once_with_who_came_and_who_left) {
  Watched w;
  BOOST_TEST((w.after(seconds(0)) == Kind::kNothing));
  BOOST_REQUIRE_EQUAL(of<facts::ConfigurationHolds>(w.notes).size(), 1u);
  BOOST_TEST(of<facts::ConfigurationHolds>(w.notes)[0].joined.size() == 4u);
  w.after(seconds(1));
  BOOST_TEST(w.notes.empty());
  testing::leave(w.consent, w.swarm, "d");
  testing::commit(w.consent, w.swarm, 0);
  w.after(seconds(1));
  const auto told = of<facts::ConfigurationHolds>(w.notes);
  BOOST_REQUIRE_EQUAL(told.size(), 1u);
  BOOST_TEST(told[0].left == std::vector<std::string>{"d"}, boost::test_tools::per_element());
  BOOST_TEST(told[0].joined.empty());
}

BOOST_AUTO_TEST_CASE(a_minority_is_told_when_it_lasts_and_when_it_changes_and_when_it_ends) {
  Watched w;
  testing::leave(w.consent, w.swarm, "cd");
  w.after(seconds(1));
  BOOST_TEST(of<facts::Minority>(w.notes).empty());
  w.after(seconds(5));
  BOOST_REQUIRE_EQUAL(of<facts::Minority>(w.notes).size(), 1u);
  BOOST_TEST(of<facts::Minority>(w.notes)[0].have == 2u);
  w.after(seconds(5));
  BOOST_TEST(w.notes.empty());
  testing::leave(w.consent, w.swarm, "b");
  w.after(seconds(1));
  BOOST_TEST(of<facts::Minority>(w.notes).size() == 1u);
  w.swarm.away.clear();
  testing::come(w.consent, "bcd");
  w.after(seconds(1));
  const auto over = of<facts::Quorum>(w.notes);
  BOOST_REQUIRE_EQUAL(over.size(), 1u);
  BOOST_TEST(over[0].have == 4u);
  BOOST_TEST((over[0].after == seconds(7)));
}

BOOST_AUTO_TEST_CASE(a_minority_goes_on_alone_only_when_it_is_told_to_and_has_waited) {
  Watched waits;
  testing::leave(waits.consent, waits.swarm, "cd");
  waits.after(seconds(1));
  BOOST_TEST((waits.after(seconds(1000)) == Kind::kNothing));
  BOOST_TEST((waits.after(seconds(1000)) == Kind::kNothing));

  Watched goes_on(seconds(60));
  testing::leave(goes_on.consent, goes_on.swarm, "cd");
  goes_on.after(seconds(1));
  goes_on.after(seconds(6));
  BOOST_TEST((goes_on.after(seconds(59)) == Kind::kNothing));
  BOOST_TEST((goes_on.after(seconds(2)) == Kind::kNewTerm));
}

BOOST_AUTO_TEST_CASE(
    one_that_leads_steps_down_for_a_higher_ballot_one_that_gathers_raises_its_own) {
  Watched w;
  BOOST_REQUIRE(w.swarm.voters.at("a").promise(ballot(9)).ok());
  w.consent.want_votes(Step(0));
  BOOST_TEST((w.after(seconds(1)) == Kind::kNothing));  // three of four are enough
  BOOST_REQUIRE(w.swarm.voters.at("b").promise(ballot(8)).ok());
  testing::commit(w.consent, w.swarm, 0);
  w.consent.want_votes(Step(1));
  BOOST_TEST((w.after(seconds(1)) == Kind::kStepDown));

  Watched gathers;
  BOOST_REQUIRE(gathers.swarm.voters.at("a").promise(ballot(9)).ok());
  gathers.consent.begin(ballot(2));
  BOOST_TEST((gathers.after(seconds(0)) == Kind::kNothing));  // the other may lead: it is heard of
  gathers.swarm.now += ConsentWatch::kBeforeRaise;
  const auto ruling =
      gathers.watch.rule(gathers.consent, Term(2), gathers.swarm.now, gathers.notes);
  BOOST_TEST((ruling.kind == Kind::kNewTerm));
  BOOST_TEST(ruling.above.value() == 9u);
}

BOOST_AUTO_TEST_CASE(who_leaves_goes_when_those_that_stay_know_a_list_without_it) {
  Watched w;
  const auto may_leave = [&](const char* node) { return w.watch.may_leave(w.consent, node); };
  w.consent.attendance().leaves(testing::process_of("d"), w.swarm.now);
  w.after(seconds(0));
  BOOST_TEST(!may_leave("d"));  // others may leave too
  w.swarm.now += seconds(1);
  int stored = 0;
  for (auto asks = w.consent.due(w.swarm.now); !asks.empty(); asks = w.consent.due(w.swarm.now))
    for (const VoterAsk& ask : asks) {
      if (ask.what == VoterAsk::What::kLearn) continue;  // on its way
      BOOST_REQUIRE(++stored < 10);
      w.consent.answered(ask, w.swarm.reach(ask), w.swarm.now);
    }
  BOOST_TEST(testing::list(w.consent) == "abc");
  BOOST_TEST(!may_leave("d"));  // without it they would not be more than half of what they know
  w.after(seconds(2));
  BOOST_TEST(may_leave("d"));
  BOOST_TEST(!may_leave("c"));
}

BOOST_AUTO_TEST_CASE(where_all_leave_nobody_waits_and_the_list_stays) {
  Watched w;
  for (const char* node : {"a", "b", "c", "d"}) {
    BOOST_TEST(!w.watch.may_leave(w.consent, node));
    w.consent.attendance().leaves(testing::process_of(node), w.swarm.now);
  }
  w.after(seconds(2));
  BOOST_TEST(w.watch.may_leave(w.consent, "a"));
  BOOST_TEST(testing::list(w.consent) == "abcd");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing
