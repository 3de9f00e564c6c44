#include "apps/sim/copies.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "actors/voter/voter_mail.h"
#include "common/names.h"

namespace swarm::sim {
namespace {

/// Steps of which every stage has a copy.
std::set<uint64_t> common_steps(const std::map<int, std::set<uint64_t>>& copies) {
  if (copies.empty()) return {};
  std::set<uint64_t> common = copies.begin()->second;
  for (const auto& [stage, steps] : copies) {
    std::set<uint64_t> both;
    std::set_intersection(common.begin(), common.end(), steps.begin(), steps.end(),
                          std::inserter(both, both.begin()));
    common = std::move(both);
  }
  return common;
}

/// Every stage, without a step.
std::map<int, std::set<uint64_t>> of_no_stage(uint32_t num_stages) {
  std::map<int, std::set<uint64_t>> stages;
  for (uint32_t stage = 0; stage < num_stages; ++stage) stages[static_cast<int>(stage)];
  return stages;
}

/// Whose snapshots are in this stream.
std::optional<int> stage_of(const std::string& stream) {
  if (!is_stage_key(stream)) return std::nullopt;
  return std::stoi(stream.substr(stream.rfind('/') + 1));
}

}  // namespace

std::map<int, std::set<uint64_t>> OnDisks::of(const std::string& name) const {
  std::map<int, std::set<uint64_t>> found;
  const int own = swarm_.nodes.at(name).stage;
  const auto disk = swarm_.disks.find(name);
  if (disk == swarm_.disks.end() || own < 0) return found;
  const auto& streams = disk->second->durable();
  const bool others = swarm_.checkpoint.copies > 0 || swarm_.coordinator_options.placement.moves;
  for (const auto& [stream, snapshots] : streams) {
    const std::string aside = aside_of(stream);
    const auto stage = stage_of(aside.empty() ? stream : aside);
    if (!stage || (*stage != own && !others)) continue;
    for (const auto& [step, value] : snapshots)
      if (!value.torn) found[*stage].insert(step);
  }
  return found;
}

std::set<uint64_t> OnDisks::common(const std::vector<std::string>& names) const {
  auto found = of_no_stage(swarm_.num_stages);
  for (const auto& name : names)
    for (const auto& [stage, steps] : of(name)) found[stage].insert(steps.begin(), steps.end());
  return common_steps(found);
}

std::map<int, std::set<uint64_t>> copies(const Swarm& swarm, const std::set<std::string>& gone) {
  auto found = of_no_stage(swarm.num_stages);
  for (const auto& [name, node] : swarm.nodes) {
    if (node.stage < 0) continue;
    if (node.alive && node.arithmetic != nullptr && node.arithmetic->state().is_set())
      found[node.stage].insert(node.arithmetic->step());
    if (!node.alive && gone.count(name) == 0) continue;
    for (const auto& [stage, steps] : OnDisks(swarm).of(name))
      found[stage].insert(steps.begin(), steps.end());
  }
  return found;
}

std::optional<int> lost_stage(const Swarm& swarm, const std::set<std::string>& gone,
                              const std::set<int>& disks_lost, uint64_t end) {
  auto here = copies(swarm);
  for (auto& [stage, steps] : here) steps.erase(steps.begin(), steps.lower_bound(end));
  std::set<int> left = disks_lost, served;  // stages that somebody has left, or somebody serves
  bool can_be_served = false;  // by one that waits for a stage, or that its own can spare
  const bool conscripts = swarm.coordinator_options.placement.gone_after > routing::Time();
  for (const auto& [name, node] : swarm.nodes) {
    if (!node.alive || node.trains()) continue;
    can_be_served |= node.stage < 0 || (!served.insert(node.stage).second && conscripts);
  }
  for (const auto& name : gone)
    if (swarm.nodes.at(name).stage >= 0) left.insert(swarm.nodes.at(name).stage);
  for (const auto& [stage, steps] : here) {
    if (!can_be_served && served.count(stage) == 0 && left.count(stage) != 0) return stage;
    if (!steps.empty()) continue;
    const bool unsaved = std::any_of(
        swarm.nodes.begin(), swarm.nodes.end(),
        [stage = stage](const auto& entry) { return entry.second.lost_unsaved.count(stage) != 0; });
    if (unsaved || left.count(stage) != 0) return stage;
  }
  if (!common_steps(here).empty()) return std::nullopt;
  auto saved = here;  // by others than those whose disks took nothing
  for (const auto& [name, node] : swarm.nodes) {
    const auto disk = swarm.disks.find(name);
    if (!node.alive || node.stage < 0 || disk == swarm.disks.end()) continue;
    if (!disk->second->refuses(stage_key(static_cast<uint32_t>(node.stage)))) continue;
    saved.erase(node.stage);
    if (!common_steps(saved).empty()) return node.stage;
  }
  for (const int stage : disks_lost) {
    auto others = here;
    others.erase(stage);
    if (!common_steps(others).empty()) return stage;
  }
  if (left.empty() || common_steps(copies(swarm, gone)).empty()) return std::nullopt;
  return *left.begin();
}

std::optional<routing::Count> votes_lost(const Swarm& swarm, const std::set<std::string>& gone) {
  routing::Voters there;
  std::vector<routing::VoterRecord> records;
  routing::ConfigurationNumber newest;
  for (const auto& [name, disk] : swarm.disks) {
    if (!disk->kept()) continue;
    const auto record = actors::read_voter_record(*disk->kept());
    if (!record) continue;
    if (gone.count(name) == 0) there.insert(routing::Voter(name, *record, {}).answer().voter);
    newest = std::max(newest, record->decided.number);
    records.push_back(*record);
  }
  std::vector<routing::Voters> lists;
  for (const auto& record : records) {
    if (record.decided.number == newest) lists.push_back(record.decided.voters);
    const auto& proposal = record.proposal;
    if (proposal && proposal->next.number == newest + 1) lists.push_back(proposal->next.voters);
  }
  for (const auto& list : lists)
    if (const auto left = routing::count(list, there); left.of > 0 && !left.most()) return left;
  return std::nullopt;
}

}  // namespace swarm::sim
