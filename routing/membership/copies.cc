#include "routing/membership/copies.h"

#include <algorithm>
#include <tuple>

#include "common/mix.h"
#include "routing/state/donors.h"

namespace swarm::routing {
namespace {

constexpr Time kPlanEvery = std::chrono::seconds(1);
/// A holder asks one of them, the next time another.
constexpr size_t kSources = 3;

/// The nodes of a roster; a node's copies are kept by one of its peers.
struct Nodes {
  std::vector<CopyNode> nodes;
  std::vector<PeerId> keepers;  ///< By place in `nodes`.
};

bool is_copy_of(const StoredCopy& copy, Step step, History history) {
  return copy.step == step && goes_with(copy.history, history);
}

Nodes nodes_of(Step step, History history, const Roster& roster) {
  Nodes found;
  std::map<std::string, std::set<Stage>> serves;
  for (const auto& [id, peer] : roster.peers()) serves[peer.node_name].insert(peer.stage);
  for (const auto& [id, peer] : roster.peers()) {
    if (!peer.keeps_copies) continue;
    CopyNode node{peer.node_name, serves[peer.node_name], {}, peer.serving && !peer.told_failing};
    for (const StoredCopy& copy : peer.copies)
      if (is_copy_of(copy, step, history)) node.has.insert(copy.stage);
    found.nodes.push_back(std::move(node));
    found.keepers.push_back(id);
  }
  return found;
}

/// Nothing: its snapshots of the step are of several histories.
std::optional<History> history_of(Step step, const Roster& roster) {
  std::vector<PeerSupply> stored;
  for (const auto& [id, peer] : roster.peers())
    if (peer.serving)
      stored.push_back({id, peer.stage, false, {}, peer.snapshots, peer.snapshot_histories});
  return common_history(stored, roster.num_stages(), step);
}

/// Peers of the stage that have the snapshot, as `holder` is to ask them.
std::vector<PeerId> sources_for(const std::string& holder, const CopyOrder& order,
                                const Roster& roster) {
  std::vector<PeerId> ids;
  std::vector<std::string> names;
  for (const auto& [id, peer] : roster.peers()) {
    const auto& steps = peer.snapshots;
    if (!peer.serving || !peer.reachable || peer.stage != order.stage ||
        std::find(steps.begin(), steps.end(), order.step) == steps.end())
      continue;
    const auto known = peer.snapshot_histories.find(order.step);
    if (known != peer.snapshot_histories.end() && !goes_with(known->second, order.history))
      continue;
    ids.push_back(id);
    names.push_back(peer.node_name);
  }
  std::vector<PeerId> chosen;
  for (const size_t place : choose_donors(holder, names, kSources)) chosen.push_back(ids[place]);
  return chosen;
}

/// Stages of whose copies `keeper` may drop all: it is none of the holders, and they have theirs.
std::vector<Stage> spare_copies(const PeerFacts& keeper, Step step, const Nodes& all,
                                const std::vector<std::vector<size_t>>& holders) {
  std::set<Stage> spare, newer;
  for (const StoredCopy& copy : keeper.copies) {
    if (copy.step > step) newer.insert(copy.stage);
    const auto& places = holders.at(copy.stage.value());
    const bool others = std::all_of(places.begin(), places.end(), [&](size_t place) {
      const CopyNode& node = all.nodes[place];
      return node.name != keeper.node_name && node.has.count(copy.stage) != 0;
    });
    if (others && !places.empty()) spare.insert(copy.stage);
  }
  for (const Stage stage : newer) spare.erase(stage);
  return {spare.begin(), spare.end()};
}

}  // namespace

std::vector<std::vector<size_t>> choose_holders(const std::vector<CopyNode>& nodes,
                                                uint32_t num_stages, uint32_t copies) {
  std::vector<std::vector<size_t>> holders(num_stages);
  std::vector<size_t> held(nodes.size(), 0);
  for (const bool have : {true, false}) {
    for (Stage stage; stage.value() < num_stages; ++stage) {
      std::vector<std::tuple<size_t, uint64_t, size_t>> order;  // copies held, drawn, place
      for (size_t place = 0; place < nodes.size(); ++place) {
        const CopyNode& node = nodes[place];
        const bool may = node.serves.count(stage) == 0 && (have || node.takes);
        if (may && have == (node.has.count(stage) != 0))
          order.emplace_back(held[place], mix(fnv1a(node.name, mix(stage.value()))), place);
      }
      std::sort(order.begin(), order.end());
      for (const auto& [load, drawn, place] : order) {
        if (holders[stage.value()].size() >= copies) break;
        holders[stage.value()].push_back(place);
        ++held[place];
      }
    }
  }
  return holders;
}

std::map<PeerId, CopyOrders> plan_copies(uint32_t copies, Step step, const Roster& roster) {
  std::map<PeerId, CopyOrders> plan;
  const auto history = history_of(step, roster);
  if (copies == 0 || step == Step(0) || !history) return plan;
  const Nodes all = nodes_of(step, *history, roster);
  const auto holders = choose_holders(all.nodes, roster.num_stages(), copies);
  for (Stage stage; stage.value() < roster.num_stages(); ++stage) {
    for (const size_t place : holders[stage.value()]) {
      if (all.nodes[place].has.count(stage) != 0) continue;
      CopyOrder order{stage, step, *history, {}};
      order.sources = sources_for(all.nodes[place].name, order, roster);
      if (!order.sources.empty()) plan[all.keepers[place]].make.push_back(std::move(order));
    }
  }
  for (const PeerId& keeper : all.keepers) {
    auto spare = spare_copies(*roster.find(keeper), step, all, holders);
    if (!spare.empty()) plan[keeper].drop = std::move(spare);
  }
  return plan;
}

CopyOrders CopyDesk::orders(const PeerId& id, std::optional<Step> durable, const Roster& roster,
                            Time now) {
  if (copies_ == 0 || !durable) return {};
  if (!planned_at_ || now - *planned_at_ >= kPlanEvery) {
    planned_at_ = now;
    plan_ = plan_copies(copies_, *durable, roster);
  }
  const auto found = plan_.find(id);
  return found == plan_.end() ? CopyOrders() : found->second;
}

}  // namespace swarm::routing
