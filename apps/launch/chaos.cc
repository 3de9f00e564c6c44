#include "apps/launch/chaos.h"

#include <algorithm>
#include <map>

#include "common/mix.h"

namespace swarm::launch {
namespace {

using config::TimelineAction;

struct Moment {
  double at_s;
  TimelineAction action;
  uint64_t draw;  ///< Decides who.
};

bool is_target(const config::Experiment& experiment, const config::NodeSpec& node) {
  auto chosen = [&](const char* kind) {
    const auto& targets = experiment.chaos.targets;
    return std::find(targets.begin(), targets.end(), kind) != targets.end();
  };
  if (!node.stages.empty() && chosen("peer")) return true;
  if (node.trainer && chosen("trainer")) return true;
  return node.stages.empty() && !node.trainer && chosen("seed");
}

void draw_moments(const config::ChaosOptions& chaos, double every_s, TimelineAction action,
                  uint64_t stream, std::vector<Moment>& out) {
  if (every_s <= 0) return;
  SplitMix64 random(chaos.seed * 2 + stream);
  for (double window = chaos.start_after_s; window < chaos.end_after_s; window += every_s) {
    const double at_s = window + random.uniform() * every_s;
    const uint64_t draw = random.next();
    if (at_s < chaos.end_after_s) out.push_back({at_s, action, draw});
  }
}

TimelineAction action_of(const std::string& kind) {
  for (const auto action : {TimelineAction::kStop, TimelineAction::kPause, TimelineAction::kCut,
                            TimelineAction::kFullDisk})
    if (kind == config::to_string(action)) return action;
  return TimelineAction::kKill;
}

void draw_mix(const config::ChaosOptions& chaos, std::vector<Moment>& out) {
  if (chaos.every_s <= 0) return;
  SplitMix64 random(chaos.seed ^ fnv1a("every_s"));
  std::vector<std::string> kinds = chaos.kinds;
  size_t used = kinds.size();
  for (double window = chaos.start_after_s; window < chaos.end_after_s; window += chaos.every_s) {
    if (used == kinds.size()) {
      for (size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[random.next() % i]);
      used = 0;
    }
    const double at_s = window + random.uniform() * chaos.every_s / 2;
    const uint64_t draw = random.next();
    if (at_s < chaos.end_after_s) out.push_back({at_s, action_of(kinds[used]), draw});
    ++used;
  }
}

double down_for_s(const config::ChaosOptions& chaos, TimelineAction action) {
  switch (action) {
    case TimelineAction::kPause:
      return chaos.pause_for_s;
    case TimelineAction::kCut:
      return chaos.cut_for_s;
    case TimelineAction::kFullDisk:
      return chaos.full_disk_for_s;
    default:
      return chaos.restart_after_s;
  }
}

void draw_preemptions(const config::ChaosOptions& chaos, const config::NodeSpec& node,
                      std::vector<ChaosEvent>& out) {
  if (node.preempt_every_s <= 0) return;
  const double every_s = node.preempt_every_s, for_s = node.preempt_for_s;
  const auto action =
      node.preempt_by == config::PreemptBy::kStop ? TimelineAction::kStop : TimelineAction::kKill;
  SplitMix64 random(chaos.seed ^ fnv1a(node.name));
  for (double window = chaos.start_after_s; window < chaos.end_after_s; window += every_s) {
    const double at_s = window + random.uniform() * (every_s - for_s);
    if (at_s < chaos.end_after_s) out.push_back({at_s, action, node.name, for_s, false});
  }
}

std::vector<std::string> candidates(const config::Experiment& experiment,
                                    const std::set<std::string>& missing, TimelineAction action) {
  std::vector<std::string> out;
  if (action == TimelineAction::kCut && cuts_majority(experiment, missing)) return out;
  const bool fills = action == TimelineAction::kFullDisk;
  for (const auto& node : experiment.nodes)
    if (missing.count(node.name) == 0 && is_target(experiment, node) &&
        !(fills && node.stages.empty()) && !is_last(experiment, missing, node.name))
      out.push_back(node.name);
  const auto& targets = experiment.chaos.targets;
  if (missing.count(kTheCoordinator) == 0 && !fills &&
      std::find(targets.begin(), targets.end(), "coordinator") != targets.end())
    out.emplace_back(kTheCoordinator);
  return out;
}

}  // namespace

const char* const kTheCoordinator = "(coordinator)";

bool is_last(const config::Experiment& experiment, const std::set<std::string>& missing,
             const std::string& node) {
  const auto* spec = experiment.find(node);
  if (!experiment.chaos.spare_last || spec == nullptr) return false;
  auto other = [&](auto matches) {
    return std::any_of(experiment.nodes.begin(), experiment.nodes.end(), [&](const auto& one) {
      return one.name != node && missing.count(one.name) == 0 && matches(one);
    });
  };
  if (spec->trainer && !other([](const auto& one) { return one.trainer; })) return true;
  return std::any_of(spec->stages.begin(), spec->stages.end(), [&](int32_t stage) {
    return stage != actors::kAnyStage && !other([&](const auto& one) {
             return std::count(one.stages.begin(), one.stages.end(), stage) > 0;
           });
  });
}

bool cuts_majority(const config::Experiment& experiment, const std::set<std::string>& missing) {
  if (!experiment.chaos.spare_last) return false;
  const auto voters = std::count_if(
      experiment.nodes.begin(), experiment.nodes.end(),
      [](const config::NodeSpec& node) { return node.trainer || !node.stages.empty(); });
  return 2 * (missing.size() + 1) >= static_cast<size_t>(voters);
}

TimelineAction undoes(TimelineAction action) {
  switch (action) {
    case TimelineAction::kPause:
      return TimelineAction::kResume;
    case TimelineAction::kCut:
      return TimelineAction::kHeal;
    case TimelineAction::kFullDisk:
      return TimelineAction::kFreeDisk;
    default:
      return TimelineAction::kStart;
  }
}

std::vector<ChaosEvent> chaos_schedule(const config::Experiment& experiment) {
  const auto& chaos = experiment.chaos;
  std::vector<Moment> moments;
  draw_moments(chaos, chaos.kill_every_s, TimelineAction::kKill, 0, moments);
  draw_moments(chaos, chaos.pause_every_s, TimelineAction::kPause, 1, moments);
  draw_mix(chaos, moments);
  std::stable_sort(moments.begin(), moments.end(),
                   [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
  std::vector<ChaosEvent> out;
  std::map<std::string, double> back_at;
  for (const Moment& moment : moments) {
    std::set<std::string> missing;
    for (const auto& [node, time] : back_at)
      if (moment.at_s < time) missing.insert(node);
    const auto nodes = candidates(experiment, missing, moment.action);
    if (nodes.empty()) continue;
    const std::string& node = nodes[moment.draw % nodes.size()];
    const double down_s = down_for_s(chaos, moment.action);
    back_at[node] = moment.at_s + down_s + chaos.settle_s;
    out.push_back({moment.at_s, moment.action, node, down_s});
  }
  for (const auto& node : experiment.nodes) draw_preemptions(chaos, node, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
  return out;
}

}  // namespace swarm::launch
