#include "routing/membership/office.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "routing/membership/term.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = 1'000s;

Office make(uint8_t self) {
  OfficeOptions options;
  options.self = node(self);
  options.announce_every = 1s;
  return {options, kStart, 5'000};
}

/// One question to the DHT and its answer.
Office::Decision ask(Office& office, Time now, const std::vector<Candidate>& records) {
  BOOST_REQUIRE(office.ask(now));
  office.heard(records, now);
  return office.decide(records, now);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(OfficeOfTheCoordinator)

BOOST_AUTO_TEST_CASE(a_fresh_node_listens_before_it_takes_over_an_empty_swarm) {
  Office office = make(1);
  BOOST_TEST((ask(office, kStart, {}).ruling == Office::Ruling::kNothing));
  BOOST_TEST((ask(office, kStart + 1'400ms, {}).ruling == Office::Ruling::kNothing));
  BOOST_TEST((ask(office, kStart + 1'500ms, {}).ruling == Office::Ruling::kTakeOver));
  BOOST_TEST(office.active());
  BOOST_TEST(term_number(office.term()) == 1u);
}

BOOST_AUTO_TEST_CASE(a_standby_whose_leader_died_takes_over_at_once_with_a_higher_term) {
  Office office = make(2);
  const std::vector<Candidate> records = {{node(1), Term(7), true}, {node(2), Term(0), false}};
  BOOST_TEST((ask(office, kStart, records).ruling == Office::Ruling::kNothing));
  BOOST_TEST(office.link_down(node(1), kStart + 100ms));
  BOOST_TEST((ask(office, kStart + 100ms, records).ruling == Office::Ruling::kTakeOver));
  BOOST_TEST(office.term() == next_term(Term(7), node(2)));
}

BOOST_AUTO_TEST_CASE(a_coordinator_steps_down_before_one_of_a_higher_term) {
  Office office = make(1);
  ask(office, kStart + 2s, {});
  BOOST_REQUIRE(office.active());
  const auto decision =
      ask(office, kStart + 3s, {{node(2), next_term(Term(1 << 14), node(2)), true}});
  BOOST_TEST((decision.ruling == Office::Ruling::kStepDown));
  BOOST_TEST(!decision.reason.empty());
  BOOST_TEST(!office.active());
}

BOOST_AUTO_TEST_CASE(a_coordinator_whose_link_broke_is_followed_again_once_it_is_back) {
  Office office = make(2);
  const std::vector<Candidate> records = {{node(1), Term(1), true}};
  ask(office, kStart, records);
  office.link_down(node(1), kStart + 100ms);
  office.link_up(node(1));
  BOOST_TEST((ask(office, kStart + 5s, records).ruling == Office::Ruling::kNothing));
  BOOST_TEST(!office.active());
}

BOOST_AUTO_TEST_CASE(a_link_is_held_to_every_other_candidate) {
  Office office = make(1);
  const std::vector<Candidate> records = {{node(1), Term(0), false}, {node(2), Term(0), false}};
  BOOST_TEST((office.heard(records, kStart) == std::vector<NodeId>{node(2)}));
  BOOST_TEST((office.heard(records, kStart + 1s) == std::vector<NodeId>{node(2)}));
}

BOOST_AUTO_TEST_CASE(of_many_candidates_the_leader_and_those_next_in_line_are_linked_to) {
  Office office = make(200);
  std::vector<Candidate> records = {{node(150), Term(4), true}};
  for (uint8_t n = 1; n <= 100; ++n) records.push_back({node(n), Term(0), false});
  BOOST_TEST(office.heard(records, kStart).size() == Office::kWatched + 1);
  ask(office, kStart, records);
  BOOST_TEST(office.link_down(node(150), kStart + 1s));  // the leader's death is noticed
  BOOST_TEST(office.link_down(node(1), kStart + 1s));
  const auto next = office.heard(records, kStart + 2s);  // the next in line moves up
  BOOST_TEST((std::find(next.begin(), next.end(), node(Office::kWatched + 1)) != next.end()));
}

BOOST_AUTO_TEST_CASE(a_candidate_that_cannot_be_reached_is_tried_again_while_its_record_lives) {
  Office office = make(1);
  office.heard({{node(2), Term(0), false}}, kStart);
  office.unreachable(node(2), kStart + 3s);
  BOOST_TEST(
      (office.heard({{node(2), Term(0), false}}, kStart + 4s) == std::vector<NodeId>{node(2)}));
}

BOOST_AUTO_TEST_CASE(nodes_that_no_record_names_any_more_are_forgotten) {
  Office office = make(1);
  Time now = kStart;
  for (uint8_t n = 2; n < 102; ++n, now += 10s) {  // a node that is started anew again and again
    office.heard({{node(n), Term(0), false}}, now);
    office.link_down(node(n), now + 5s);
  }
  BOOST_TEST(office.remembered() <= 8u);
  office.heard({}, now + 100s);
  BOOST_TEST(office.remembered() == 0u);
}

BOOST_AUTO_TEST_CASE(a_dead_node_is_remembered_while_records_name_it) {
  Office office = make(9);
  const std::vector<Candidate> records = {{node(1), Term(3), true}, {node(9), Term(0), false}};
  office.heard(records, kStart);
  office.link_down(node(1), kStart);
  for (int i = 1; i < 30; ++i) office.heard({{node(1), Term(3), true}}, kStart + i * 10s);
  BOOST_TEST((office.decide({{node(1), Term(3), true}}, kStart + 300s).ruling ==
              Office::Ruling::kTakeOver));
}

BOOST_AUTO_TEST_CASE(one_question_is_under_way_at_a_time_and_pauses_once_somebody_leads) {
  Office office = make(2);
  BOOST_TEST(office.ask(kStart));
  BOOST_TEST(!office.ask(kStart + 1s));
  office.in_vain();
  BOOST_TEST(office.ask(kStart + 1s));  // nobody is known to lead: at once
  office.heard({{node(1), Term(1), true}}, kStart + 1s);
  office.decide({{node(1), Term(1), true}}, kStart + 1s);
  BOOST_TEST(!office.ask(kStart + 1'400ms));
  BOOST_TEST(office.ask(kStart + 1'500ms));
}

BOOST_AUTO_TEST_CASE(records_have_rising_versions_above_those_of_an_earlier_life) {
  Office office = make(1);
  BOOST_TEST(office.publication_due(kStart));
  BOOST_TEST(office.publish(kStart) == 5'001u);
  BOOST_TEST(!office.publication_due(kStart + 999ms));
  BOOST_TEST(office.publication_due(kStart + 1s));
  BOOST_TEST(office.publish(kStart + 1s) == 5'002u);
}

BOOST_AUTO_TEST_CASE(all_trainers_died_and_the_successor_goes_above_the_term_that_peers_followed) {
  Office office = make(1);
  ask(office, kStart + 2s, {});  // their records have expired: it begins at term 1
  BOOST_REQUIRE(term_number(office.term()) == 1u);
  const Term seen = next_term(next_term(office.term(), node(7)), node(8));
  office.raise_term(seen);
  BOOST_TEST(office.term() == next_term(seen, node(1)));
}

// One peer that registers again and again led the term to its end.
BOOST_AUTO_TEST_CASE(what_others_say_leads_a_term_a_long_way_once_and_then_slowly) {
  Office office = make(1);
  const Time now = kStart + 2s;
  ask(office, now, {});
  BOOST_REQUIRE(office.active());
  BOOST_TEST(!office.led_to(office.term(), now).has_value());
  const Term far(uint64_t{900'000} << kTermNodeBits);
  const auto raise = [&](Time at) {
    int raised = 0;
    for (; raised < 2'000; ++raised) {
      const auto seen = office.led_to(far, at);
      if (!seen) break;
      const Term before = office.term();
      office.raise_term(*seen);
      BOOST_REQUIRE(before < office.term());
    }
    return raised;
  };
  BOOST_TEST(raise(now) == 1);
  BOOST_TEST(term_number(office.term()) == 1 + kTermJump);
  BOOST_TEST(raise(now + 9s) == 0);
  BOOST_TEST(raise(now + 50s) == 1);
  BOOST_TEST(term_number(office.term()) == 6 + kTermJump);
}

// Two that reigned, each with peers that followed the other's term, raised theirs 150 times in a second.
BOOST_AUTO_TEST_CASE(words_of_higher_terms_lead_at_once_and_then_once_in_a_second) {
  Office office = make(1);
  const Time now = kStart + 2s;
  ask(office, now, {});
  const auto raises = [&office](Time at) {
    const auto seen = office.led_to(next_term(office.term(), node(2)), at);
    if (seen) office.raise_term(*seen);
    return seen.has_value();
  };
  BOOST_TEST(raises(now));
  BOOST_TEST(!raises(now));
  BOOST_TEST(!raises(now + 999ms));
  BOOST_TEST(raises(now + 1s));
  BOOST_TEST(!raises(now + 1500ms));
}

BOOST_AUTO_TEST_CASE(a_record_that_says_ever_higher_terms_leads_who_stands_by_slowly) {
  Office office = make(2);
  for (int i = 0; i < 100; ++i)
    office.decide({{node(1), Term(1), true}, {node(9), office.term() + (1'000u << 12), false}},
                  kStart + i * 100ms);
  BOOST_TEST(term_number(office.term()) <= kTermJump);
  BOOST_TEST(term_number(office.term()) > 0u);
}

// Two that cannot reach each other, and peers that reach both: they do not depose each other in turn.
BOOST_AUTO_TEST_CASE(a_leader_that_cannot_be_reached_but_publishes_is_followed) {
  Office office = make(1);
  ask(office, kStart + 2s, {{node(2), Term(0), false, 10}});
  BOOST_REQUIRE(office.active());
  office.link_down(node(2), kStart + 3s);
  const Term higher = next_term(office.term(), node(2));
  office.step_down();  // peers follow the other one
  const auto decision = ask(office, kStart + 4s, {{node(2), higher, true, 11}});
  BOOST_TEST((decision.ruling == Office::Ruling::kNothing));
  BOOST_TEST(!office.active());
}

BOOST_AUTO_TEST_CASE(one_record_that_was_on_its_way_does_not_bring_the_dead_back) {
  Office office = make(2);
  std::vector<Candidate> records = {{node(1), Term(7), true, 10}};
  ask(office, kStart, records);
  office.link_down(node(1), kStart + 100ms);
  records[0].version = 11;
  BOOST_TEST((ask(office, kStart + 200ms, records).ruling == Office::Ruling::kTakeOver));
}

BOOST_AUTO_TEST_CASE(a_leader_whose_records_end_counts_as_dead_again) {
  Office office = make(2);
  std::vector<Candidate> records = {{node(1), Term(7), true, 10}};
  ask(office, kStart, records);
  office.unreachable(node(1), kStart);
  for (uint64_t version : {11, 12}) {
    records[0].version = version;
    office.heard(records, kStart + 1s);
  }
  BOOST_TEST((office.decide(records, kStart + 2s).ruling == Office::Ruling::kNothing));
  BOOST_TEST((office.decide(records, kStart + 4s).ruling == Office::Ruling::kTakeOver));
}

BOOST_AUTO_TEST_CASE(who_resigns_waits_until_somebody_has_opened_a_step) {
  Office office = make(1);
  ask(office, kStart + 2s, {{node(2), Term(0), false, 1}});
  BOOST_REQUIRE(office.active());
  BOOST_TEST(office.vain() == 1u);
  BOOST_TEST(office.rivals() == 1u);
  office.resign();
  BOOST_TEST(office.yields() == 1u);
  BOOST_TEST((ask(office, kStart + 13s, {{node(2), Term(0), false, 2}}).ruling ==
              Office::Ruling::kNothing));
  const Term next = next_term(office.term(), node(2));
  ask(office, kStart + 14s, {{node(2), next, true, 3, 0, 2}});
  BOOST_TEST(office.yields() == 1u);
  ask(office, kStart + 30s, {{node(2), next, true, 4, 0, 0}});  // it trains
  BOOST_TEST(office.yields() == 0u);
  BOOST_TEST(office.vain() == 0u);
}

// Some stage is dead, or only one of them reaches it: everybody is to try again and again.
BOOST_AUTO_TEST_CASE(the_office_goes_round_among_those_that_lead_in_vain) {
  std::vector<Office> offices = {make(1), make(2), make(3)};
  std::vector<Candidate> records = {
      {node(1), Term(0), false, 1}, {node(2), Term(0), false, 1}, {node(3), Term(0), false, 1}};
  std::vector<size_t> leaders;
  for (Time now = kStart + 2s; now < kStart + 14s; now += 1s) {
    size_t leader = offices.size();
    for (size_t n = 0; n < offices.size(); ++n) {
      if (ask(offices[n], now, records).ruling != Office::Ruling::kTakeOver) continue;
      BOOST_REQUIRE(leader == offices.size());  // never two
      leader = n;
    }
    BOOST_REQUIRE(leader < offices.size());
    leaders.push_back(leader + 1);
    auto publish = [&](size_t n) {
      Office& office = offices[n];
      records[n] = {node(static_cast<uint8_t>(n + 1)),
                    office.term(),
                    office.active(),
                    office.publish(now),
                    office.yields(),
                    office.vain()};
    };
    publish(leader);
    for (size_t n = 0; n < offices.size(); ++n)
      if (n != leader) ask(offices[n], now + 500ms, records), publish(n);
    offices[leader].resign();
    publish(leader);
  }
  BOOST_TEST((leaders == std::vector<size_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(reigns_in_vain_are_counted_over_all_candidates) {
  Office office = make(2);
  ask(office, kStart + 2s, {{node(1), Term(1 << 12), false, 1, /*yields=*/1, 3}});
  BOOST_REQUIRE(office.active());
  BOOST_TEST(office.vain() == 4u);
  office.opened();
  BOOST_TEST(office.vain() == 0u);
}

BOOST_AUTO_TEST_CASE(a_node_that_others_cannot_dial_leads_only_if_nobody_else_would) {
  Office office = make(1);
  office.hard_to_reach();
  BOOST_TEST((ask(office, kStart + 2s, {{node(2), Term(0), false, 1}}).ruling ==
              Office::Ruling::kNothing));
  BOOST_TEST((ask(office, kStart + 4s, {}).ruling == Office::Ruling::kTakeOver));
}

BOOST_AUTO_TEST_SUITE_END()
