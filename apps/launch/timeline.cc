#include "apps/launch/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

namespace swarm::launch {

using config::TimelineAction;

std::vector<config::TimelineEvent> with_preemptions(const config::Experiment& experiment) {
  auto out = experiment.timeline;
  for (const auto& node : experiment.nodes) {
    const auto leave =
        node.preempt_by == config::PreemptBy::kStop ? TimelineAction::kStop : TimelineAction::kKill;
    for (const auto& one : node.preempt) {
      out.push_back({-1, one.at_s, leave, node.name, {}});
      out.push_back({-1, one.at_s + one.for_s, TimelineAction::kStart, node.name, {}});
    }
  }
  return out;
}

bool uses(const config::Experiment& experiment, TimelineAction action) {
  const auto& chaos = experiment.chaos;
  const auto& timeline = experiment.timeline;
  if (chaos.every_s > 0 &&
      std::count(chaos.kinds.begin(), chaos.kinds.end(), config::to_string(action)) > 0)
    return true;
  return std::any_of(timeline.begin(), timeline.end(),
                     [&](const auto& event) { return event.action == action; });
}

std::vector<size_t> due(const std::vector<config::TimelineEvent>& timeline,
                        const std::set<size_t>& done, uint64_t steps_closed, double seconds) {
  std::vector<size_t> out;
  for (size_t i = 0; i < timeline.size(); ++i) {
    const auto& event = timeline[i];
    const bool by_step = event.at_step >= 0;
    const bool come =
        by_step ? steps_closed >= static_cast<uint64_t>(event.at_step) : seconds >= event.at_second;
    if (come && done.count(i) == 0) out.push_back(i);
  }
  return out;
}

bool will_return(const std::vector<config::TimelineEvent>& timeline, const std::set<size_t>& done,
                 const std::string& node) {
  for (size_t i = 0; i < timeline.size(); ++i) {
    const bool back = timeline[i].action == TimelineAction::kStart ||
                      timeline[i].action == TimelineAction::kResume;
    if (back && done.count(i) == 0 && timeline[i].node == node) return true;
  }
  return false;
}

namespace {

/// Nodes of other stages take over one of which nobody is left.
bool can_be_taken_over(const config::Experiment& experiment,
                       const std::function<bool(const config::NodeSpec&)>& usable) {
  const bool may = experiment.base.coordinator.placement.gone_after.count() > 0 &&
                   experiment.base.checkpoint.copies > 0;
  std::set<int32_t> served;
  return may &&
         std::any_of(experiment.nodes.begin(), experiment.nodes.end(), [&](const auto& node) {
           return usable(node) && node.stages.size() == 1 && !served.insert(node.stages[0]).second;
         });
}

}  // namespace

std::string cannot_go_on(const config::Experiment& experiment, const std::set<std::string>& alive,
                         const std::set<size_t>& done) {
  auto usable = [&](const config::NodeSpec& node) {
    return alive.count(node.name) > 0 || will_return(experiment.timeline, done, node.name);
  };
  for (int32_t stage = 0; stage < experiment.base.num_stages; ++stage) {
    const bool served =
        std::any_of(experiment.nodes.begin(), experiment.nodes.end(), [&](const auto& node) {
          return usable(node) &&
                 std::any_of(node.stages.begin(), node.stages.end(),
                             [&](int32_t s) { return s == stage || s == actors::kAnyStage; });
        });
    if (!served && !can_be_taken_over(experiment, usable))
      return "no process is left that serves stage " + std::to_string(stage);
  }
  const bool fed = std::any_of(experiment.nodes.begin(), experiment.nodes.end(),
                               [&](const auto& node) { return node.trainer && usable(node); });
  return fed ? "" : "no trainer process is left";
}

std::string lone_trainer(const config::Experiment& experiment, const std::string& also) {
  std::set<std::string> trainers;
  for (const auto& node : experiment.nodes)
    if (node.trainer) trainers.insert(node.name);
  if (trainers.empty()) return "";  // nodes that the file does not list
  if (!also.empty()) trainers.insert(also);
  if (trainers.size() > 1) return "";
  return *trainers.begin() +
         " is the only node with `trainer = true`: while it is away nothing is trained, and nobody "
         "coordinates in its place; two or more take over for one another";
}

std::vector<std::string> weak_points(const config::Experiment& experiment) {
  std::vector<std::string> points;
  if (const std::string alone = lone_trainer(experiment); !alone.empty()) points.push_back(alone);
  const std::chrono::duration<double> gone_after = experiment.base.coordinator.placement.gone_after;
  const double limit_s = experiment.run.stall_limit_s;
  if (gone_after.count() >= limit_s && experiment.base.checkpoint.copies > 0)
    points.push_back(fmt::format(
        "run.stall_limit_s ({:g}) ends the run before placement.gone_after_s ({:g}) lets peers of "
        "other stages take over one that is lost; make the first larger by a minute",
        limit_s, gone_after.count()));
  return points;
}

}  // namespace swarm::launch
