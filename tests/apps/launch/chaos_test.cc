#include "apps/launch/chaos.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

namespace swarm::launch {
namespace {

using config::TimelineAction;

config::Experiment experiment(const std::string& chaos) {
  auto loaded = config::parse_experiment(
      "[data]\ntrain=[\"x\"]\n[pipeline]\nstages=2\n"
      "[[nodes]]\nname=\"a\"\ncount=3\nstages=[0]\n[[nodes]]\nname=\"b\"\ncount=3\nstages=[1]\n"
      "[[nodes]]\nname=\"t\"\ncount=2\ntrainer=true\n[[nodes]]\nname=\"seed\"\n[chaos]\n" +
          chaos,
      "x.toml");
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
  return *loaded.experiment;
}

const char* const kKills = "kill_every_s=1\nrestart_after_s=2\nsettle_s=2\nend_after_s=200\n";

std::string text(const std::vector<ChaosEvent>& schedule) {
  std::string out;
  for (const auto& event : schedule)
    out += std::to_string(event.at_s) + " " + config::to_string(event.action) + " " + event.node +
           "\n";
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ChaosTest)

BOOST_AUTO_TEST_CASE(nothing_happens_unless_asked_for) {
  BOOST_TEST(chaos_schedule(experiment("seed=3\n")).empty());
}

BOOST_AUTO_TEST_CASE(the_seed_decides_everything) {
  const std::string once = text(chaos_schedule(experiment(std::string(kKills) + "seed=5\n")));
  BOOST_TEST(once == text(chaos_schedule(experiment(std::string(kKills) + "seed=5\n"))));
  BOOST_TEST(once != text(chaos_schedule(experiment(std::string(kKills) + "seed=6\n"))));
}

BOOST_AUTO_TEST_CASE(each_window_has_one_kill_at_a_moment_of_its_own) {
  const auto schedule =
      chaos_schedule(experiment("kill_every_s=5\nstart_after_s=10\nend_after_s=110\n"));
  BOOST_REQUIRE(schedule.size() == 20u);
  double into = 0;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const double window = 10 + 5.0 * static_cast<double>(i);
    BOOST_TEST((schedule[i].at_s >= window && schedule[i].at_s < window + 5));
    BOOST_TEST((schedule[i].action == TimelineAction::kKill));
    into += schedule[i].at_s - window;
  }
  BOOST_TEST((into / 20 > 1.5 && into / 20 < 3.5));
}

BOOST_AUTO_TEST_CASE(everybody_is_hit_in_the_long_run) {
  std::map<std::string, int> hits;
  for (const auto& event : chaos_schedule(
           experiment("kill_every_s=1\nrestart_after_s=0\nsettle_s=0\nend_after_s=2000\n")))
    ++hits[event.node];
  BOOST_TEST(hits.size() == 10u);  // 9 nodes and the coordinator
  for (const auto& [node, count] : hits) BOOST_TEST((count > 130 && count < 270), node);
}

BOOST_AUTO_TEST_CASE(a_stage_keeps_a_peer_and_the_swarm_a_trainer) {
  const auto e = experiment(std::string(kKills) + "pause_every_s=1\npause_for_s=3\n");
  const auto schedule = chaos_schedule(e);
  BOOST_TEST(schedule.size() > 200u);
  for (size_t i = 0; i < schedule.size(); ++i) {
    std::set<std::string> down = {schedule[i].node};
    for (size_t k = 0; k < i; ++k)
      if (schedule[k].at_s + schedule[k].down_for_s + 2 > schedule[i].at_s)
        BOOST_TEST((down.insert(schedule[k].node).second), "hit while it was down");
    for (const char* kind : {"a-", "b-", "t-"}) {
      const auto count = std::count_if(down.begin(), down.end(),
                                       [&](const auto& name) { return name.rfind(kind, 0) == 0; });
      BOOST_TEST(count < (kind[0] == 't' ? 2 : 3));
    }
  }
}

BOOST_AUTO_TEST_CASE(without_sparing_a_stage_may_lose_all) {
  const auto e = experiment(
      "kill_every_s=1\nspare_last=false\nrestart_after_s=20\nsettle_s=0\n"
      "end_after_s=200\ntargets=[\"peer\"]\n");
  std::set<std::string> all = {"a-0", "a-1", "a-2"};
  bool lost = false;
  const auto schedule = chaos_schedule(e);
  for (const auto& event : schedule) {
    std::set<std::string> down;
    for (const auto& other : schedule)
      if (other.at_s <= event.at_s && other.at_s + other.down_for_s > event.at_s)
        down.insert(other.node);
    lost |= std::includes(down.begin(), down.end(), all.begin(), all.end());
  }
  BOOST_TEST(lost);
}

BOOST_AUTO_TEST_CASE(only_targets_are_hit) {
  auto only = [](const std::string& target) {
    std::set<std::string> hit;
    for (const auto& event :
         chaos_schedule(experiment(std::string(kKills) + "targets=[\"" + target + "\"]\n")))
      hit.insert(event.node);
    return hit;
  };
  BOOST_TEST((only("seed") == std::set<std::string>{"seed"}));
  BOOST_TEST((only("coordinator") == std::set<std::string>{kTheCoordinator}));
  BOOST_TEST((only("trainer") == std::set<std::string>{"t-0", "t-1"}));
  BOOST_TEST(only("peer").size() == 6u);
}

BOOST_AUTO_TEST_CASE(the_last_of_a_kind_is_told_from_the_others) {
  const auto e = experiment("");
  BOOST_TEST(!is_last(e, {"a-1"}, "a-0"));
  BOOST_TEST(is_last(e, {"a-1", "a-2"}, "a-0"));
  BOOST_TEST(is_last(e, {"t-1"}, "t-0"));
  BOOST_TEST(!is_last(e, {"t-1", "a-0"}, "seed"));
  BOOST_TEST(!is_last(e, {}, "nobody"));
}

BOOST_AUTO_TEST_CASE(a_mix_has_one_fault_in_the_first_half_of_each_window_and_each_kind_as_often) {
  const auto schedule = chaos_schedule(
      experiment("every_s=20\nend_after_s=1200\npause_for_s=2\nrestart_after_s=3\nseed=7\n"));
  BOOST_REQUIRE(schedule.size() == 60u);
  std::map<TimelineAction, int> kinds;
  std::set<std::string> nodes;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const double window = 20.0 * static_cast<double>(i);
    BOOST_TEST((schedule[i].at_s >= window && schedule[i].at_s < window + 10));
    ++kinds[schedule[i].action];
    nodes.insert(schedule[i].node);
    if (i % 5 == 4)
      for (const auto& [kind, count] : kinds) BOOST_TEST(count == static_cast<int>(i / 5 + 1));
  }
  BOOST_TEST(kinds.size() == 5u);
  BOOST_TEST(nodes.size() > 5u);
}

BOOST_AUTO_TEST_CASE(each_kind_of_a_mix_lasts_as_its_key_says_and_is_undone_by_its_own_opposite) {
  const std::map<TimelineAction, std::pair<double, TimelineAction>> expected = {
      {TimelineAction::kKill, {1, TimelineAction::kStart}},
      {TimelineAction::kStop, {1, TimelineAction::kStart}},
      {TimelineAction::kPause, {2, TimelineAction::kResume}},
      {TimelineAction::kCut, {3, TimelineAction::kHeal}},
      {TimelineAction::kFullDisk, {4, TimelineAction::kFreeDisk}}};
  for (const auto& event :
       chaos_schedule(experiment("every_s=20\nend_after_s=400\nrestart_after_s=1\npause_for_s=2\n"
                                 "cut_for_s=3\nfull_disk_for_s=4\n"))) {
    BOOST_TEST(event.down_for_s == expected.at(event.action).first);
    BOOST_TEST((undoes(event.action) == expected.at(event.action).second));
  }
}

BOOST_AUTO_TEST_CASE(a_mix_has_the_chosen_kinds_only_and_fills_disks_of_peers_only) {
  const auto schedule =
      chaos_schedule(experiment("every_s=1\nend_after_s=300\nkinds=[\"full_disk\", \"cut\"]\n"
                                "cut_for_s=0.2\nfull_disk_for_s=0.2\nsettle_s=0\n"));
  BOOST_TEST(schedule.size() == 300u);
  std::set<std::string> filled, cut;
  for (const auto& event : schedule) {
    BOOST_TEST((event.action == TimelineAction::kFullDisk || event.action == TimelineAction::kCut));
    (event.action == TimelineAction::kCut ? cut : filled).insert(event.node);
  }
  BOOST_TEST(filled.size() == 6u);
  BOOST_TEST((filled.count("seed") + filled.count("t-0") + filled.count(kTheCoordinator) == 0u));
  BOOST_TEST(cut.size() == 10u);
}

BOOST_AUTO_TEST_CASE(a_mix_leaves_the_schedules_of_kills_and_pauses_as_they_are) {
  const auto alone = chaos_schedule(
      experiment("kill_every_s=1\nrestart_after_s=0\nsettle_s=0\nend_after_s=200\nseed=5\n"));
  auto both = chaos_schedule(
      experiment("kill_every_s=1\nrestart_after_s=0\nsettle_s=0\nend_after_s=200\nseed=5\n"
                 "every_s=20\nkinds=[\"pause\"]\npause_for_s=0\n"));
  both.erase(std::remove_if(both.begin(), both.end(),
                            [](const auto& e) { return e.action == TimelineAction::kPause; }),
             both.end());
  BOOST_TEST(text(both) == text(alone));
  // As drawn before there were mixes: the same seed is the same storm.
  BOOST_TEST(text({alone.begin(), alone.begin() + 3}) ==
             "0.033311 kill b-1\n1.130973 kill t-0\n2.856298 kill b-1\n");
}

BOOST_AUTO_TEST_CASE(a_cut_leaves_the_others_a_majority) {
  const auto e = experiment("");  // 8 peers and trainers
  BOOST_TEST(!cuts_majority(e, {"a-0", "b-0"}));
  BOOST_TEST(cuts_majority(e, {"a-0", "b-0", "t-0"}));
  auto schedule =
      chaos_schedule(experiment("every_s=1\nkinds=[\"cut\"]\ncut_for_s=100\nend_after_s=90\n"));
  BOOST_TEST(schedule.size() == 3u);
  schedule = chaos_schedule(
      experiment("every_s=1\nkinds=[\"cut\"]\ncut_for_s=100\nend_after_s=90\nspare_last=false\n"));
  BOOST_TEST(schedule.size() == 10u);
}

BOOST_AUTO_TEST_CASE(a_preempted_node_leaves_once_a_window_and_is_back_before_its_end) {
  auto e = experiment("start_after_s=5\nend_after_s=105\n");
  e.nodes[0].preempt_every_s = 20;
  e.nodes[0].preempt_for_s = 12;
  const auto schedule = chaos_schedule(e);
  BOOST_REQUIRE(schedule.size() == 5u);
  std::set<double> offsets;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const double window = 5 + 20.0 * static_cast<double>(i);
    BOOST_TEST(schedule[i].at_s >= window);
    BOOST_TEST(schedule[i].at_s + 12 <= window + 20);
    BOOST_TEST(schedule[i].node == "a-0");
    BOOST_TEST(schedule[i].down_for_s == 12);
    BOOST_TEST(!schedule[i].spares);
    BOOST_TEST((schedule[i].action == TimelineAction::kKill));
    offsets.insert(schedule[i].at_s - window);
  }
  BOOST_TEST(offsets.size() == 5u);
  e.nodes[1].preempt_every_s = 20;
  e.nodes[1].preempt_for_s = 12;
  e.nodes[1].preempt_by = config::PreemptBy::kStop;
  const auto both = chaos_schedule(e);
  BOOST_REQUIRE(both.size() == 10u);
  BOOST_TEST(both[0].at_s != both[1].at_s);  // nodes have moments of their own
  for (size_t i = 1; i < both.size(); ++i) BOOST_TEST(both[i].at_s >= both[i - 1].at_s);
  for (const auto& event : both)
    BOOST_TEST((event.action == TimelineAction::kStop) == (event.node == "a-1"));
  e.chaos.seed = 99;
  BOOST_TEST(text(chaos_schedule(e)) != text(both));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
