// All peers of a stage are gone for good: peers of other stages take it over from copies (docs/elastic.md).
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

#include "actors/net/mail_kinds.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

/// Three stages of three, two and two peers; each node of another stage has a copy of each snapshot.
struct Conscripted : testing::SimSwarm {
  explicit Conscripted(actors::TrainingMode mode = actors::TrainingMode::kSync) {
    training.mode = mode;
    training.steps = 40;
    checkpoint.copies = 9;
    coordinator_options.placement.gone_after = 10s;
    for (const auto& [name, stage] : peers) Swarm::add_peer(name, stage, {50ms, 1ms});
  }
  void begin() {
    add_trainer("trainer");
    for (const auto& [name, stage] : peers) start(name);
    BOOST_REQUIRE(closes(11));
    system.advance(1s);
  }
  bool within(std::chrono::seconds limit, const std::function<bool()>& done) {
    return system.advance_until(done, limit, 50ms);
  }
  bool closes(uint64_t step, std::chrono::seconds limit = 3600s) {
    return within(limit, [this, step] {
      return !events->steps.empty() && events->steps.back().step >= step;
    });
  }
  /// With their disks.
  void lose(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      kill(name);
      disks.erase(name);
    }
    events->events.clear();
    closed = events->steps.size();
  }
  bool goes_on(std::chrono::seconds limit) {
    return within(limit, [this] { return events->steps.size() > closed; });
  }
  int serving(int stage) const {
    int count = 0;
    for (const auto& [name, node] : nodes) count += node.alive && node.stage == stage ? 1 : 0;
    return count;
  }
  std::vector<records::PeerMoves> conscripts() const {
    std::vector<records::PeerMoves> found;
    for (const auto& event : events->events)
      if (const auto order = event.as<records::PeerMoves>(); order && order->why == "conscription")
        found.push_back(*order);
    return found;
  }
  std::vector<records::ConscriptionHolds> holds() const {
    std::vector<records::ConscriptionHolds> found;
    for (const auto& event : events->events)
      if (const auto held = event.as<records::ConscriptionHolds>()) found.push_back(*held);
    return found;
  }
  void check_end() {
    BOOST_REQUIRE(run_to_end(3600s));
    system.advance(5s);
    BOOST_TEST(check_parameters() == "");
    BOOST_TEST(checked > 0);
    BOOST_TEST(events->count("replicas_differ") == 0u);
    BOOST_TEST(events->count("actor_failed") == 0u);
    BOOST_TEST(events->count("initialized") == 0u);
  }

  const std::map<std::string, int> peers = {{"a0", 0}, {"b0", 0}, {"c0", 0}, {"a1", 1},
                                            {"b1", 1}, {"a2", 2}, {"b2", 2}};
  size_t closed = 0;
};

struct ConscriptedInPeriods : Conscripted {
  ConscriptedInPeriods() : Conscripted(actors::TrainingMode::kAsync) {}
};

BOOST_AUTO_TEST_SUITE(ConscriptionTest)

BOOST_FIXTURE_TEST_CASE(a_stage_that_is_gone_for_good_is_taken_over_from_its_newest_copy,
                        Conscripted) {
  begin();
  lose({"a1", "b1"});
  BOOST_TEST(!goes_on(10s));
  BOOST_TEST(goes_on(10s));
  const auto orders = conscripts();
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST(orders[0].peer == "a0");  // of three
  BOOST_TEST((orders[0].from == 0u && orders[0].from_peers == 3u && orders[0].to_peers == 0u));
  BOOST_TEST(orders[0].copy_step.value() >= 8u);
  BOOST_TEST(events->count("recovered") == 1u);
  BOOST_TEST(events->count("move_done") == 1u);
  BOOST_TEST(events->count("conscription_holds") == 0u);
  BOOST_TEST((serving(0) == 2 && serving(1) == 1 && serving(2) == 2));
  check_end();
  BOOST_TEST(conscripts().size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(processes_that_come_back_in_time_serve_as_before, Conscripted) {
  begin();
  kill("a1");
  kill("b1");
  events->events.clear();
  system.advance(8s);
  start("a1");
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(events->count("peer_moves") == 0u);
  BOOST_TEST(nodes["a1"].stage == 1);
  BOOST_TEST(check_parameters() == "");
}

BOOST_FIXTURE_TEST_CASE(one_that_comes_back_later_joins_the_stage_that_was_taken_over,
                        Conscripted) {
  begin();
  lose({"b1"});
  kill("a1");
  BOOST_REQUIRE(goes_on(30s));
  start("a1");
  check_end();
  BOOST_TEST(serving(1) == 2);
}

BOOST_FIXTURE_TEST_CASE(without_copies_it_says_what_is_missing_and_waits, Conscripted) {
  checkpoint.copies = 0;
  begin();
  lose({"b1"});
  kill("a1");
  BOOST_TEST(!goes_on(300s));
  BOOST_TEST(conscripts().empty());
  const auto held = holds();
  BOOST_REQUIRE(held.size() == 1u);
  BOOST_TEST(held[0].reason == "no_copy");
  BOOST_TEST(held[0].missing.find("nobody has any state of stage 1") == 0u, held[0].missing);
  BOOST_TEST(held[0].missing.find("a1 (step ") != std::string::npos, held[0].missing);
  start("a1");
  BOOST_TEST(goes_on(10s));
  check_end();
}

// It announces itself: whom the other trainer reaches is not taken for lost.
BOOST_FIXTURE_TEST_CASE(a_stage_that_only_the_coordinator_cannot_reach_is_for_another_to_lead,
                        Conscripted) {
  net.set_model({}, 1);
  begin();
  add_trainer("other");
  system.advance(2s);
  for (const char* name : {"a1", "b1"}) cut_both_ways("trainer", name);  // which leads
  events->events.clear();
  BOOST_TEST(closes(events->steps.back().step + 10, 120s));
  BOOST_TEST(conscripts().empty());
  BOOST_TEST(events->count("coordinator") == 1u);
}

BOOST_FIXTURE_TEST_CASE(fewer_than_half_wait_for_a_word, Conscripted) {
  begin();
  lose({"a1", "b1", "b2", "c0"});  // four of eight voters
  BOOST_TEST(!goes_on(120s));
  BOOST_TEST(conscripts().empty());
  BOOST_REQUIRE(!holds().empty());
  BOOST_TEST(holds()[0].reason == "no_quorum");
  order(actors::make_mail(proto::GoOn()));
  BOOST_TEST(goes_on(20s));
  BOOST_TEST(conscripts().size() == 1u);
  check_end();
}

BOOST_FIXTURE_TEST_CASE(the_last_peer_of_each_other_stage_stays, Conscripted) {
  begin();
  lose({"c0"});
  BOOST_REQUIRE(goes_on(30s));
  lose({"b2"});
  BOOST_REQUIRE(goes_on(30s));
  system.advance(10s);  // both have no vote any more
  lose({"b0"});
  BOOST_REQUIRE(goes_on(30s));
  system.advance(10s);
  lose({"a1", "b1"});
  BOOST_TEST(!goes_on(120s));
  BOOST_TEST(conscripts().empty());
  BOOST_TEST((serving(0) == 1 && serving(2) == 1));
}

BOOST_FIXTURE_TEST_CASE(the_coordinator_may_go_with_the_stage, Conscripted) {
  add_trainer("another");
  begin();
  lose({"trainer", "a1", "b1"});
  BOOST_TEST(goes_on(30s));
  BOOST_TEST(conscripts().size() == 1u);
  check_end();
}

// It takes longer to read its snapshot than a stage without peers is waited for.
BOOST_FIXTURE_TEST_CASE(who_is_busy_with_its_state_is_known_to_a_new_coordinator, Conscripted) {
  for (const char* name : {"a1", "b1"}) nodes.at(name).times.read = 30s;
  add_trainer("another");
  begin();
  for (const char* name : {"a1", "b1"}) kill(name);
  for (const char* name : {"a1", "b1"}) start(name);
  BOOST_REQUIRE(within(10s, [this] {
    return describe(nodes.at("a1").stage_server).find(", loading,") != std::string::npos;
  }));
  const bool first =
      describe(nodes.at("trainer").actors.at(2)).find(": standby,") == std::string::npos;
  kill(first ? "trainer" : "another");
  events->events.clear();
  closed = events->steps.size();
  BOOST_TEST(goes_on(60s));
  BOOST_TEST(conscripts().empty());
  BOOST_TEST(serving(1) == 2);
  check_end();
}

BOOST_FIXTURE_TEST_CASE(a_conscript_that_dies_is_followed_by_another, Conscripted) {
  begin();
  lose({"a1", "b1"});
  BOOST_REQUIRE(within(30s, [this] { return nodes["a0"].stage == 1; }));
  kill("a0");
  BOOST_TEST(goes_on(30s));
  BOOST_TEST(serving(1) == 1);
  check_end();
}

BOOST_FIXTURE_TEST_CASE(with_delayed_updates_nothing_is_lost_either, Conscripted) {
  training.delayed_updates = true;
  begin();
  lose({"a1", "b1"});
  BOOST_TEST(goes_on(20s));
  check_end();
}

BOOST_FIXTURE_TEST_CASE(stages_at_their_own_pace_are_taken_over_too, ConscriptedInPeriods) {
  begin();
  lose({"a2", "b2"});
  BOOST_TEST(goes_on(20s));
  BOOST_TEST(serving(2) == 1);
  BOOST_TEST(run_to_end(3600s));
  BOOST_TEST(events->count("initialized") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_swarm_that_is_started_again_without_a_stage_takes_it_over, Conscripted) {
  training.min_peers_per_stage = 2;
  begin();
  for (const auto& [name, stage] : peers) kill(name);
  for (const char* name : {"a1", "b1"}) disks.erase(name);
  events->events.clear();
  closed = events->steps.size();
  Swarm::add_peer("d0", 0, {50ms, 1ms});
  for (const char* name : {"a0", "b0", "c0", "d0", "a2", "b2"}) start(name);
  BOOST_TEST(goes_on(60s));
  BOOST_TEST(conscripts().size() == 2u);
  BOOST_TEST((serving(0) == 2 && serving(1) == 2 && serving(2) == 2));
  check_end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
