#include "apps/launch/collect_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace swarm::launch {
namespace {

constexpr uint32_t kNamedStages = 16;

/// "stage 0: 400, stage 1: none": the newest of each.
std::string newest_of_each(const std::vector<Holdings>& nodes, uint32_t num_stages) {
  std::string out;
  for (uint32_t stage = 0; stage < std::min(num_stages, kNamedStages); ++stage) {
    std::optional<uint64_t> newest;
    for (const auto& node : nodes)
      for (const auto& one : node.snapshots)
        if (one.stage == stage) newest = std::max(newest.value_or(0), one.step);
    out += fmt::format("{}stage {}: {}", out.empty() ? "" : ", ", stage,
                       newest ? std::to_string(*newest) : "none");
  }
  return out;
}

}  // namespace

Result<uint64_t> newest_held_step(const std::vector<Holdings>& nodes, uint32_t num_stages) {
  std::map<uint64_t, std::set<uint32_t>> stages_of;
  for (const auto& node : nodes)
    for (const auto& one : node.snapshots)
      if (one.stage < num_stages) stages_of[one.step].insert(one.stage);
  for (auto it = stages_of.rbegin(); it != stages_of.rend(); ++it)
    if (it->second.size() == num_stages) return it->first;
  return Error{ErrorCode::kNotFound, "no step of which every stage has a snapshot"};
}

CollectPlan::Choice CollectPlan::begin_round(const std::vector<Holdings>& here,
                                             const std::vector<Holdings>& answering) {
  remember_lost();
  step_.reset();
  no_step_.clear();
  obtained_.clear();
  refusals_.clear();
  pruned_.clear();
  here_.clear();
  for (const auto& node : here) here_.insert(node.node_name);
  std::vector<Holdings> good = here;
  for (auto node : answering) {
    auto& held = node.snapshots;
    held.erase(std::remove_if(held.begin(), held.end(),
                              [&](const HeldSnapshot& one) {
                                return damaged_.count({node.node_name, one.stage, one.step}) > 0;
                              }),
               held.end());
    good.push_back(std::move(node));
  }
  uint64_t newest = 0;
  bool any = false;
  for (const auto& node : good) {
    num_stages_ = std::max(num_stages_, node.num_stages);
    for (const auto& one : node.snapshots) newest = std::max(newest, one.step);
    any = any || !node.snapshots.empty();
  }
  if (!any) return {std::nullopt, "no snapshots yet"};
  const auto step = newest_held_step(good, num_stages_);
  if (!step) {
    no_step_ = num_stages_ == 0
                   ? "snapshots: of how many stages is not known, as no config.toml is here"
                   : fmt::format("snapshots: there is no step of which every stage has one ({})",
                                 newest_of_each(good, num_stages_));
    return {std::nullopt, no_step_};
  }
  step_ = *step;
  for (const auto& node : here)
    for (const auto& one : node.snapshots)
      if (one.step == *step) obtained_.insert(one.stage);
  if (newest == *step) return {step_, {}};
  return {step_, fmt::format("step {} is the newest of which every stage has a snapshot ({})",
                             *step, newest_of_each(good, num_stages_))};
}

void CollectPlan::remember_lost() {
  for (uint32_t stage = 0; step_ && stage < num_stages_; ++stage)
    if (obtained_.count(stage) == 0 && refusals_.count(stage) > 0 && pruned_.count(stage) == 0)
      lost_[{*step_, stage}] = stage_line(stage);
}

void CollectPlan::has_snapshot(uint32_t stage) {
  obtained_.insert(stage);
  if (step_) lost_.erase({*step_, stage});
}

void CollectPlan::gave_no_snapshot(const std::string& node, const HeldSnapshot& which,
                                   const Error& why) {
  refusals_[which.stage] += fmt::format("; {}: {}", node, to_string(why));
  if (why.code == ErrorCode::kCorruptCheckpoint)
    damaged_.insert({node, which.stage, which.step});
  else
    pruned_.insert(which.stage);
}

void CollectPlan::gave_all(const std::string& node, const std::string& where) {
  whole_.insert(node);
  owed_.erase(node);
  owed_.erase(where);
}

void CollectPlan::owes(const std::string& who, const std::string& why) {
  if (whole_.count(who) == 0) owed_[who] = why;
}

void CollectPlan::expects(const std::vector<std::string>& nodes) {
  expected_ = {nodes.begin(), nodes.end()};
}

std::string CollectPlan::stage_line(uint32_t stage) const {
  const auto why = refusals_.find(stage);
  return fmt::format("stage {}: its snapshot of step {} is not here{}", stage, *step_,
                     why == refusals_.end() ? "" : why->second);
}

std::vector<std::string> CollectPlan::lacks() const {
  std::vector<std::string> out;
  for (const auto& [who, why] : owed_) out.push_back(who + ": " + why);
  for (const auto& name : expected_) {
    if (whole_.count(name) > 0 || owed_.count(name) > 0) continue;
    out.push_back(fmt::format(
        "{}: the experiment names it, and {}: start it, or copy its folder, "
        "and collect again",
        name,
        here_.count(name) > 0 ? "what is here is of an earlier time" : "nothing of it is here"));
  }
  if (!no_step_.empty()) out.push_back(no_step_);
  for (const auto& [at, line] : lost_) out.push_back(line);
  for (uint32_t stage = 0; step_ && stage < num_stages_; ++stage)
    if (obtained_.count(stage) == 0 && lost_.count({*step_, stage}) == 0)
      out.push_back(stage_line(stage));
  return out;
}

}  // namespace swarm::launch
