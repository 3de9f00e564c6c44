#include "apps/launch/chaos_run.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

namespace swarm::launch {
namespace {

using config::TimelineAction;
using Kind = ChaosOrder::Kind;

const char* const kKills = "kill_every_s=1\n";

/// Two peers of one stage and a trainer; what is killed is down for 2 s and settled 1 s later.
config::Experiment experiment(const std::string& chaos) {
  auto loaded = config::parse_experiment(
      "[data]\ntrain=[\"x\"]\n[pipeline]\nstages=1\n"
      "[[nodes]]\nname=\"a\"\nstages=[0]\n[[nodes]]\nname=\"b\"\nstages=[0]\n"
      "[[nodes]]\nname=\"t\"\ntrainer=true\n"
      "[chaos]\nrestart_after_s=2\nsettle_s=1\nend_after_s=20\n" +
          chaos,
      "x.toml");
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
  return *loaded.experiment;
}

size_t count(const std::vector<ChaosOrder>& orders, Kind kind) {
  return static_cast<size_t>(std::count_if(orders.begin(), orders.end(),
                                           [&](const auto& order) { return order.kind == kind; }));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ChaosRunTest)

BOOST_AUTO_TEST_CASE(a_node_that_was_hit_is_ordered_back_once_when_its_time_has_come) {
  const auto options = experiment(std::string(kKills) + "targets=[\"peer\"]\nspare_last=false\n");
  ChaosRun run(options);
  const auto hits = run.due(1, {});
  BOOST_REQUIRE(hits.size() == 1u);
  BOOST_TEST((hits[0].kind == Kind::kHit && hits[0].action == TimelineAction::kKill));
  BOOST_TEST(hits[0].index.value() == 0u);
  BOOST_TEST(run.returning() == std::set<std::string>{hits[0].node},
             boost::test_tools::per_element());
  const auto later = run.due(3, {});
  BOOST_TEST(count(later, Kind::kBack) == 1u);
  BOOST_TEST((later[0].kind == Kind::kBack && later[0].node == hits[0].node &&
              later[0].action == TimelineAction::kStart));
  BOOST_TEST(count(run.due(3, {}), Kind::kBack) == 0u);
}

BOOST_AUTO_TEST_CASE(a_paused_node_is_resumed_and_not_started) {
  const auto options =
      experiment("pause_every_s=1\npause_for_s=1\ntargets=[\"peer\"]\nspare_last=false\n");
  ChaosRun run(options);
  BOOST_TEST((run.due(1, {}).at(0).action == TimelineAction::kPause));
  BOOST_TEST((run.due(2, {}).at(0).action == TimelineAction::kResume));
}

BOOST_AUTO_TEST_CASE(a_cut_is_healed_and_a_full_disk_freed) {
  const std::pair<const char*, std::pair<TimelineAction, TimelineAction>> kinds[] = {
      {"cut", {TimelineAction::kCut, TimelineAction::kHeal}},
      {"full_disk", {TimelineAction::kFullDisk, TimelineAction::kFreeDisk}}};
  for (const auto& [kind, actions] : kinds) {
    const auto options = experiment(std::string("every_s=10\ncut_for_s=1\nfull_disk_for_s=1\n") +
                                    "targets=[\"peer\"]\nkinds=[\"" + kind + "\"]\n");
    ChaosRun run(options);
    const auto hit = run.due(5, {}), back = run.due(6, {});
    BOOST_REQUIRE((hit.size() == 1u && back.size() == 1u));
    BOOST_TEST((hit[0].kind == Kind::kHit && hit[0].action == actions.first));
    BOOST_TEST((back[0].kind == Kind::kBack && back[0].action == actions.second));
  }
}

BOOST_AUTO_TEST_CASE(a_cut_is_spared_where_the_others_would_be_no_majority) {
  const auto options = experiment("every_s=10\nkinds=[\"cut\"]\ntargets=[\"peer\"]\n");
  ChaosFacts facts;
  BOOST_TEST((ChaosRun(options).due(5, facts).at(0).kind == Kind::kHit));
  facts.down = {"t"};  // of three
  BOOST_TEST((ChaosRun(options).due(5, facts).at(0).kind == Kind::kSpare));
}

BOOST_AUTO_TEST_CASE(who_is_down_already_is_spared) {
  const auto options = experiment(std::string(kKills) + "targets=[\"peer\"]\nspare_last=false\n");
  ChaosRun run(options);
  ChaosFacts facts;
  facts.down = {"a", "b"};
  const auto orders = run.due(1, facts);
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST((orders[0].kind == Kind::kSpare));
  BOOST_TEST(run.returning().empty());
}

BOOST_AUTO_TEST_CASE(the_last_peer_of_a_stage_is_spared_even_if_the_schedule_did_not_know) {
  const auto options = experiment(std::string(kKills) + "targets=[\"peer\"]\n");
  ChaosFacts facts;
  facts.live_peers = {1};  // the swarm counts less than the processes
  BOOST_TEST((ChaosRun(options).due(1, facts).at(0).kind == Kind::kSpare));
  facts.live_peers = {2};
  BOOST_TEST((ChaosRun(options).due(1, facts).at(0).kind == Kind::kHit));
}

// By the file b was left for its stage, and the other stage's only peer was killed.
BOOST_AUTO_TEST_CASE(the_last_peer_is_found_by_the_stages_that_nodes_serve_now) {
  auto options = experiment(std::string(kKills) + "targets=[\"peer\"]\n");
  options.base.num_stages = 2;
  ChaosFacts facts;
  BOOST_TEST((ChaosRun(options).due(1, facts).at(0).kind == Kind::kHit));
  facts.as_served = [&options] {
    auto now = options;
    now.nodes[1].stages = {1};
    return now;
  };
  BOOST_TEST((ChaosRun(options).due(1, facts).at(0).kind == Kind::kSpare));
}

BOOST_AUTO_TEST_CASE(a_node_counts_as_missing_until_it_has_settled) {
  const auto options = experiment(std::string(kKills) + "targets=[\"peer\"]\n");
  ChaosRun run(options);
  std::string first;
  for (const auto& order : run.due(1, {}))
    if (order.kind == Kind::kHit) first = order.node;
  BOOST_REQUIRE(!first.empty());
  for (const double now_s : {2.0, 3.0, 3.9})  // hit at 1, back at 3, settled at 4
    BOOST_TEST(count(run.due(now_s, {}), Kind::kHit) == 0u);
}

BOOST_AUTO_TEST_CASE(the_coordinator_is_whoever_coordinates_when_the_time_comes) {
  const auto options =
      experiment(std::string(kKills) + "targets=[\"coordinator\"]\nspare_last=false\n");
  ChaosFacts facts;
  facts.coordinator = "t";
  const auto orders = ChaosRun(options).due(1, facts);
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST(orders[0].node == "t");
  BOOST_TEST(orders[0].as_coordinator);
  BOOST_TEST((ChaosRun(options).due(1, {}).at(0).kind == Kind::kSpare));  // there is none
}

BOOST_AUTO_TEST_CASE(a_resumed_run_goes_on_behind_the_last_entry_carried_out) {
  const auto options = experiment(std::string(kKills) + "targets=[\"peer\"]\nspare_last=false\n");
  ChaosRun run(options);
  const auto schedule = chaos_schedule(options);
  BOOST_REQUIRE(schedule.size() > 4u);
  BOOST_TEST(run.resume(3) == schedule[2].at_s);
  const auto orders = run.due(schedule[3].at_s, {});
  BOOST_REQUIRE(orders.size() == 1u);
  BOOST_TEST(orders[0].index.value() == 3u);
  BOOST_TEST(ChaosRun(options).resume(1'000) == schedule.back().at_s);  // more than there are
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
