#include "routing/membership/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;
using swarm::testing::peer;

namespace {

/// Node i serves stage i modulo `stages`.
std::vector<CopyNode> nodes(size_t count, uint32_t stages) {
  std::vector<CopyNode> made;
  for (uint32_t i = 0; i < count; ++i)
    made.push_back({fmt::format("node-{}", i), {Stage(i % stages)}, {}, true});
  return made;
}

/// Names of the holders, by stage.
std::vector<std::set<std::string>> names(const std::vector<CopyNode>& nodes, uint32_t stages,
                                         uint32_t copies) {
  std::vector<std::set<std::string>> found(stages);
  const auto holders = choose_holders(nodes, stages, copies);
  for (uint32_t stage = 0; stage < stages; ++stage)
    for (const size_t place : holders[stage]) found[stage].insert(nodes[place].name);
  return found;
}

/// Stages 0, 1, 2 of two peers each, 1 to 6: all serve and have the snapshots of 40 and 60, and all keep
/// copies.
struct Six {
  Roster roster{3};
  Six() {
    for (uint32_t n = 1; n <= 6; ++n) report(n, {});
  }
  void report(uint32_t n, const std::vector<StoredCopy>& copies,
              const std::vector<Step>& snapshots = {Step(60), Step(40)}) {
    PeerReport report;
    report.has_state = report.keeps_copies = true;
    report.step = Step(65);
    report.snapshots = snapshots;
    for (const Step step : snapshots) report.snapshot_histories[step] = History(step.value());
    report.copies = copies;
    roster.report(peer(n), stage_of(n), fmt::format("n{}", n), report);
    roster.find(peer(n))->serving = roster.find(peer(n))->reachable = true;
  }
  static Stage stage_of(uint32_t n) { return Stage((n - 1) % 3); }
  /// Who is to copy a stage's snapshot of 60.
  std::optional<uint32_t> maker(Stage stage) const {
    const auto plan = plan_copies(1, Step(60), roster);
    for (uint32_t n = 1; n <= 6; ++n) {
      const auto orders = plan.find(peer(n));
      if (orders == plan.end()) continue;
      for (const CopyOrder& order : orders->second.make)
        if (order.stage == stage) return n;
    }
    return std::nullopt;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(CopiesOfSnapshots)

BOOST_AUTO_TEST_CASE(no_node_holds_a_copy_of_a_stage_that_it_serves) {
  auto four = nodes(4, 2);
  four[0].serves = {Stage(0), Stage(1)};
  const auto holders = names(four, 2, 8);
  BOOST_TEST((holders[0] == std::set<std::string>{"node-1", "node-3"}));
  BOOST_TEST((holders[1] == std::set<std::string>{"node-2"}));
  BOOST_TEST(names(nodes(3, 1), 1, 1)[0].empty());
}

BOOST_AUTO_TEST_CASE(copies_are_spread_evenly) {
  for (const auto& [count, stages, copies] : {std::tuple{12u, 4u, 1u}, std::tuple{8u, 4u, 2u},
                                              std::tuple{100u, 32u, 1u}, std::tuple{9u, 3u, 3u}}) {
    std::map<size_t, uint32_t> held;
    for (const auto& places : choose_holders(nodes(count, stages), stages, copies)) {
      BOOST_TEST(places.size() == copies);
      for (const size_t place : places) ++held[place];
    }
    for (const auto& [place, number] : held)
      BOOST_TEST(number <= (stages * copies + count - 1) / count + 1);
  }
}

BOOST_AUTO_TEST_CASE(few_copies_move_when_a_node_goes) {
  constexpr uint32_t kStages = 8;
  const auto all = nodes(64, kStages);
  const auto before = names(all, kStages, 1);
  size_t moved = 0, lost = 0;
  for (size_t gone = 0; gone < all.size(); ++gone) {
    auto rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
    const auto after = names(rest, kStages, 1);
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      moved += after[stage] != before[stage];
      lost += before[stage].count(all[gone].name);
    }
  }
  BOOST_TEST(lost == kStages);
  BOOST_TEST(moved <= 2 * lost);
}

BOOST_AUTO_TEST_CASE(the_order_of_the_nodes_does_not_matter) {
  auto some = nodes(10, 3);
  const auto before = names(some, 3, 2);
  std::reverse(some.begin(), some.end());
  BOOST_TEST((names(some, 3, 2) == before));
}

BOOST_AUTO_TEST_CASE(who_has_the_copy_stays_and_who_takes_none_gets_none) {
  auto some = nodes(10, 2);
  for (size_t i = 0; i < some.size(); ++i) some[i].takes = i == 3;
  some[5].has = {Stage(0)};
  const auto holders = names(some, 2, 1);
  BOOST_TEST((holders[0] == std::set<std::string>{"node-5"}));
  BOOST_TEST(holders[1].empty());
}

BOOST_AUTO_TEST_CASE(each_stage_is_copied_once_from_peers_that_have_it) {
  Six swarm;
  swarm.report(1, {}, {Step(60)});
  swarm.report(4, {}, {Step(40)});  // of stage 0, too
  const auto plan = plan_copies(1, Step(60), swarm.roster);
  std::set<Stage> made;
  for (const auto& [id, orders] : plan) {
    BOOST_TEST(orders.drop.empty());
    for (const CopyOrder& order : orders.make) {
      BOOST_TEST(made.insert(order.stage).second);
      BOOST_TEST((order.step == Step(60)));
      BOOST_TEST((order.history == History(60)));
      BOOST_TEST((swarm.roster.find(id)->stage != order.stage));
      BOOST_TEST(!order.sources.empty());
      for (const PeerId& source : order.sources) {
        BOOST_TEST((swarm.roster.find(source)->stage == order.stage));
        BOOST_TEST((source != peer(4)));
      }
    }
  }
  BOOST_TEST(made.size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_is_copied_is_not_copied_again) {
  Six swarm;
  swarm.report(2, {{Stage(0), Step(60), History(60)}});
  BOOST_TEST(!swarm.maker(Stage(0)).has_value());
  BOOST_TEST(swarm.maker(Stage(1)).has_value());
  swarm.report(2, {{Stage(0), Step(60), History(7)}});  // of a history that was given up
  BOOST_TEST(swarm.maker(Stage(0)).has_value());
}

BOOST_AUTO_TEST_CASE(a_copy_is_dropped_when_the_one_that_shall_be_is_there) {
  Six swarm;
  const uint32_t maker = *swarm.maker(Stage(0));
  const uint32_t other = maker == 2 ? 3 : 2;
  swarm.report(other, {{Stage(0), Step(40), History(40)}});
  BOOST_TEST((swarm.maker(Stage(0)) == maker));
  BOOST_TEST(plan_copies(1, Step(60), swarm.roster)[peer(other)].drop.empty());
  swarm.report(maker, {{Stage(0), Step(60), History(60)}, {Stage(0), Step(40), History(40)}});
  auto plan = plan_copies(1, Step(60), swarm.roster);
  BOOST_TEST((plan[peer(other)].drop == std::vector<Stage>{Stage(0)}));
  BOOST_TEST(plan[peer(maker)].drop.empty());
}

BOOST_AUTO_TEST_CASE(nothing_is_ordered_where_there_is_nothing_to_copy) {
  Six swarm;
  BOOST_TEST(plan_copies(0, Step(60), swarm.roster).empty());
  BOOST_TEST(plan_copies(1, Step(0), swarm.roster).empty());
  BOOST_TEST(plan_copies(1, Step(80), swarm.roster).empty());  // nobody has it yet
  for (uint32_t n = 1; n <= 6; ++n) swarm.roster.find(peer(n))->keeps_copies = false;
  BOOST_TEST(plan_copies(1, Step(60), swarm.roster).empty());
}

BOOST_AUTO_TEST_CASE(whose_disk_fails_gets_no_copies) {
  Six swarm;
  const uint32_t maker = *swarm.maker(Stage(0));
  swarm.roster.find(peer(maker))->told_failing = true;
  BOOST_TEST((swarm.maker(Stage(0)) != maker));
  BOOST_TEST(swarm.maker(Stage(0)).has_value());
}

BOOST_AUTO_TEST_CASE(the_desk_plans_anew_once_a_second) {
  Six swarm;
  CopyDesk desk(1), none(0);
  const uint32_t maker = *swarm.maker(Stage(0));
  const auto has_order = [&](CopyDesk& of, Time now) {
    return !of.orders(peer(maker), Step(60), swarm.roster, now).make.empty();
  };
  BOOST_TEST(has_order(desk, 100s));
  BOOST_TEST(!has_order(none, 100s));
  std::vector<StoredCopy> copies;
  for (uint32_t stage = 0; stage < 3; ++stage)
    if (Stage(stage) != Six::stage_of(maker))
      copies.push_back({Stage(stage), Step(60), History(60)});
  swarm.report(maker, copies);
  BOOST_TEST(has_order(desk, 100'500ms));
  BOOST_TEST(!has_order(desk, 101s));
  BOOST_TEST(desk.orders(peer(maker), std::nullopt, swarm.roster, 103s).make.empty());
}

BOOST_AUTO_TEST_SUITE_END()
